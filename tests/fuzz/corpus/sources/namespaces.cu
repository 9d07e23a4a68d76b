 <limits>
#include <map>
#include <string_view>
#include <type_traits>

namespace lab {
using std::string_view;
constexpr int kWarp = 32;
constexpr float kScale = 127.0f;
enum class Rounding : std::uint8_t { Nearest, Zero };
inline const std::map<std::string_view, Rounding> kNames = {{"nearest", Rounding::Nearest}, {"zero", Rounding::Zero}};
constexpr int cdiv(int a, int b) { return (a + b - 1) / b; }
template <Rounding R> struct Rounder;
template <> struct Rounder<Rounding::Nearest> {
    static __device__ float apply(float x) { return rintf(x); }
};
template <> struct Rounder<Rounding::Zero> {
    static __device__ float apply(float x) { return truncf(x); }
};

namespace {
std::string slur