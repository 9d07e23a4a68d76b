// C = A B with tiles brought by cuda::memcpy_async in two stages, each with a cuda::barrier.
// cargo ladder emulate: --grid 32,32 --block 32,8
//   --arg 'f32[1024,1024]=normal' --arg 'f32[1024,1024]=normal' --arg 'f32[1024,1024]=zeros' --arg 1024
#include <cuda/barrier>

__global__ void gemm(const float* a, const float* b, float* c, int n)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(16) float x[2][32][32], y[2][32][32];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier full[2];
    const int thread = threadIdx.y * 32 + threadIdx.x;
    if (thread == 0) {
        init(&full[0], 256);
        init(&full[1], 256);
    }
    __syncthreads();
    const int row = thread / 8, piece = thread % 8 * 4;
    auto load = [&](int step) {
        const int s = step % 2;
        cuda::memcpy_async(&x[s][row][piece], &a[(blockIdx.y * 32 + row) * n + step * 32 + piece], cuda::aligned_size_t<16>(16), full[s]);
        cuda::memcpy_async(&y[s][row][piece], &b[(step * 32 + row) * n + blockIdx.x * 32 + piece], cuda::aligned_size_t<16>(16), full[s]);
    };
    float sums[4] = {};
    load(0);
    for (int step = 0; step < n / 32; ++step) {
        if (step + 1 < n / 32)
            load(step + 1);
        full[step % 2].arrive_and_wait();
        for (int k = 0; k < 32; ++k)
            for (int r = 0; r < 4; ++r)
                sums[r] += x[step % 2][threadIdx.y + r * 8][k] * y[step % 2][k][threadIdx.x];
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        c[(blockIdx.y * 32 + threadIdx.y + r * 8) * n + blockIdx.x * 32 + threadIdx.x] = sums[r];
}
