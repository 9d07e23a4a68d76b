// What of <algorithm> device code calls.
#ifndef STAND_IN_FOR_ALGORITHM
#define STAND_IN_FOR_ALGORITHM
namespace std {
template <typename T> __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <typename T> __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <typename T> __device__ constexpr const T &clamp(const T &x, const T &low, const T &high) {
    return x < low ? low : high < x ? high : x;
}
template <typename T> __device__ constexpr void swap(T &a, T &b) {
    T kept = a;
    a = b;
    b = kept;
}
}
#endif
