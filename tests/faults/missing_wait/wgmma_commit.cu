// wait_group waits for groups, and this wgmma is in none.
// cargo ladder emulate: --grid 1 --block 128 --arg f32[4096]
#include "hopper.cuh"
extern "C" __global__ void k(float* out)
{
    // A (64, 16) and B (16, 64), all ones, without padding: rows of 128 bytes.
    __shared__ alignas(1024) unsigned a[64 * 32], b[16 * 32];
    for (int i = threadIdx.x; i < 64 * 32; i += 128)
        a[i] = 0x3c003c00;
    for (int i = threadIdx.x; i < 16 * 32; i += 128)
        b[i] = 0x3c003c00;
    fence_proxy_async();
    __syncthreads();
    float c[32] = {};
    for (float& x : c)
        asm volatile("" : "+f"(x) :: "memory");  // the compiler sets them here, and not later
    wgmma_fence();
    wgmma(c, descriptor(a, 0, 1024), descriptor(b, 8192, 1024), 1); //~ ERROR it never lands
    wgmma_wait<0>();
    for (int i = 0; i < 32; ++i)
        out[threadIdx.x * 32 + i] = c[i]; //~ ERROR Unordered wgmma
}
