// Which SMs are in one GPC, and the table of rows_of_gpcs.patch: nvcc -arch=sm_90a -o gpcs gpcs.cu && ./gpcs
// The blocks of a cluster run on SMs of one GPC. So SMs that clusters of many sizes share are in one. Some SMs take no cluster of more
// than two blocks: they are printed as GPCs of their own, and get the places that are left.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>
#include <cuda_runtime.h>

constexpr int SHARED = 200 * 1024;                     // one block on each SM, as a persistent kernel has
constexpr int GROUP = 8;                               // rows of clusters that rung 17 computes together

__global__ void sm_of_block(int* sm)
{
    if (threadIdx.x == 0)
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm[blockIdx.x]));
    for (int i = 0; i < 2000; ++i)                     // until every block has its SM
        __nanosleep(20);
}

void check(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "error: %s\n", cudaGetErrorString(error));
    exit(1);
}

std::vector<int> launch(int cluster, int blocks)
{
    int* sm;
    check(cudaMallocManaged(&sm, blocks * sizeof(int)));
    cudaLaunchAttribute size;
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {(unsigned)cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks, config.blockDim = 128, config.dynamicSmemBytes = SHARED, config.attrs = &size, config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, sm_of_block, sm));
    check(cudaDeviceSynchronize());
    std::vector<int> found(sm, sm + blocks);
    cudaFree(sm);
    return found;
}

int main()
{
    check(cudaFuncSetAttribute(sm_of_block, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    check(cudaFuncSetAttribute(sm_of_block, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    int sms;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    std::vector<int> gpc(sms);                         // the smallest SM known to be in the same GPC
    std::iota(gpc.begin(), gpc.end(), 0);
    for (int cluster : {2, 4, 6, 8, 10, 12, 14, 16})
        for (int again = 0; again < 4; ++again) {
            const std::vector<int> sm = launch(cluster, 16 * cluster);
            for (size_t i = 0; i < sm.size(); ++i) {
                const int a = gpc[sm[i]], b = gpc[sm[i / cluster * cluster]];
                for (int& g : gpc)
                    g = g == std::max(a, b) ? std::min(a, b) : g;
            }
        }

    // A wave of the rung's tiles is GROUP rows high, numbered column by column. Each GPC gets a row.
    const std::vector<int> sm = launch(2, sms);
    std::map<int, std::vector<int>> clusters;
    for (int i = 0; i < sms / 2; ++i)
        clusters[gpc[sm[2 * i]]].push_back(i);
    std::vector<int> place(sms / 2, -1), taken(sms / 2, 0);
    int row = 0;
    for (auto& [first, members] : clusters) {
        printf("GPC of SM %d: %zu clusters of two\n", first, members.size());
        if (members.size() < 4 || row == GROUP)
            continue;
        for (size_t column = 0; column < members.size() && column * GROUP + row < place.size(); ++column)
            taken[place[members[column]] = column * GROUP + row] = 1;
        ++row;
    }
    for (int& p : place)
        if (p < 0)
            taken[p = std::find(taken.begin(), taken.end(), 0) - taken.begin()] = 1;
    for (int p : place)
        printf("%d, ", p);
    printf("\n");
}
