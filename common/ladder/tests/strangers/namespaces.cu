// Namespaces, constants and helpers in them, of which some are the host's.
// cargo ladder emulate: --kernel lab::kernels::quantize --grid 2 --block 32
//   --arg 'f32[64]=uniform(-2,2)' --arg 'i8[64]=poison' --arg 64
// expect 1: min -127
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
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
std::string slurp(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}
__device__ inline float clamped(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
}  // namespace

namespace kernels {
static_assert(cdiv(33, kWarp) == 2, "two warps");
static_assert(std::is_same_v<std::string_view::value_type, char>);
static const __device__ float limits[2] = {-kScale, kScale};

__global__ void quantize(const float *in, std::int8_t *out, int n) {
    __shared__ float tile[cdiv(kWarp, 4) * 4];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : std::numeric_limits<float>::max();
    __syncwarp();
    float x = clamped(tile[threadIdx.x] * kScale, limits[0], limits[1]);
    if (i < n) out[i] = static_cast<std::int8_t>(Rounder<Rounding::Nearest>::apply(x));
}
}  // namespace kernels

void run(const std::array<float, 64> &values) {
    auto grid = dim3(cdiv(values.size(), kWarp));
    kernels::quantize<<<grid, kWarp>>>(values.data(), nullptr, values.size());
}
}  // namespace lab

using namespace lab;
namespace k = lab::kernels;

auto main() -> int { run({}); }
