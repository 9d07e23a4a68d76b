// Jacobi steps over a cooperative grid; between two of them the grid syncs.
// cargo ladder emulate: --grid 4 --block 32 --cooperative --arg f32[130]=iota --arg f32[130]
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(float* a, float* b)
{
    const int i = 1 + blockIdx.x * 32 + threadIdx.x;
    for (int step = 0; step < 3; ++step) {
        b[i] = 0.5f * (a[i - 1] + a[i + 1]);
        cg::this_grid().sync();
        float* other = a; a = b; b = other;
    }
}
