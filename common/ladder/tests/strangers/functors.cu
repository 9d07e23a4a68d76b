// Functors, operators, traits with specializations, an explicit instance, an alias template.
// cargo ladder emulate: --kernel 'map<Polynomial<2>, float3>' --grid 1 --block 4
//   --arg 'f32[4,3]=iota' --arg 'f32=1,0.5,2' --arg 4
// expect 0: 1 1.5 6 10 16.5 27
#include <functional>
#include <vector>

__host__ __device__ inline float3 operator+(const float3 &a, const float3 &b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__host__ __device__ inline float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }
__host__ __device__ inline bool operator==(float3 a, float3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
inline bool operator<(float3 a, float3 b) { return std::less<float>{}(a.x, b.x); }

template <typename T> struct Traits { static constexpr int width = 1; };
template <> struct Traits<float3> { static constexpr int width = 3; };
template <typename T> using Pointer = T *__restrict__;

template <int Degree> struct Polynomial {
    float3 coefficients[1];
    static_assert(Degree > 0, "a degree");
    Polynomial() = default;
    Polynomial(std::vector<float3> all) { coefficients[0] = all[0]; }
    template <typename T> __device__ T operator()(T x) const {
        T power = x;
        for (int i = 1; i < Degree; i++) power = power * x;
        return power + coefficients[0];
    }
    void operator()(std::vector<float3> &all) const { for (auto &x : all) x = x + coefficients[0]; }
    bool operator!=(const Polynomial &other) const { return !(coefficients[0] == other.coefficients[0]); }
};

template <typename F, typename T>
__global__ void map(Pointer<T> x, F function, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && Traits<T>::width == 3) x[i] = function(x[i]);
}
template __global__ void map<Polynomial<3>, float3>(Pointer<float3>, Polynomial<3>, int);

template <typename F> void transform(std::vector<float3> &all, F function) { map<F, float3><<<1, 4>>>(all.data(), function, 4); }

int main() {
    std::vector<float3> all(4);
    transform(all, Polynomial<2>(all));
    transform(all, [] __device__(float3 x) { return x + x; });
}
