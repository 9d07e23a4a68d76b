// fast.cu's last kernel, matmul_12.cuh, as a library for `labs bf16_tn time --beside libfast_cu.so`. With fast.cu beside this file:
//   nvcc -std=c++17 -O3 -DNDEBUG -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC -I fast.cu/examples/matmul -o libfast_cu.so fast_cu.cu -lcuda
// Its own program multiplies by runKernel12, which keeps the tensor maps of the first call. Here each call has its own A, B and C.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <vector>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

// What matmul_12.cuh expects of the file that includes it.
using bf16 = __nv_bfloat16;
using std::max;
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
void cudaCheck(cudaError_t) {}
#include "matmul_12.cuh"

// As runKernel12 chooses them: the block's tile and threads, stages, and blocks of two that share the tile of their second operand.
constexpr int BM = 128, BN = 256, BK = 64, THREADS = 384, STAGES = 3, BLOCKS = 128, CLUSTER = 2;

// Its C is column-major: the transpose of ours, so B is its first operand.
extern "C" int gemm_bf16_tn(int m, int n, int k, const void* a, const void* b, void* c, cudaStream_t stream)
{
    if (n % (BM * CLUSTER) || m % BN || k % BK)
        return 1;                                      // it has no partial tiles
    static int rows, columns, *order;                  // of which size the order of tiles is on the device
    if (rows != m || columns != n) {
        std::vector<int> tiles(BLOCKS * M12::SPACE_LEN);
        M12::createHilbert(n / (BM * CLUSTER), m / BN, BLOCKS / CLUSTER, tiles.data());
        cudaFree(order);
        order = nullptr, rows = columns = 0;
        if (cudaMalloc(&order, tiles.size() * sizeof(int)) != cudaSuccess)
            return 2;
        cudaMemcpy(order, tiles.data(), tiles.size() * sizeof(int), cudaMemcpyHostToDevice);
        rows = m, columns = n;
    }
    auto* kernel = M12::matmulKernel12<BM, BN, BK, THREADS, STAGES, BLOCKS, CLUSTER, 1>;
    constexpr int shared = sizeof(M12::SMem<BM, BN, BK, STAGES>);
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    const CUtensorMap first = M12::create_tensor_map<BM, BK>((bf16*)b, n, k), second = M12::create_tensor_map<BN, BK>((bf16*)a, m, k),
                      product = M12::create_tensor_map<BN, BM / 2, false, true>((bf16*)c, m, n);
    kernel<<<BLOCKS, THREADS, shared, stream>>>(n, m, k, product, first, second, order);
    return cudaGetLastError() == cudaSuccess ? 0 : 3;
}
