// Mismatch: TMA writes A's tile in one layout, and wgmma's descriptor reads it in another. Nothing faults: the values
// are wrong. B is the identity, so that C is A as wgmma saw it, and shows where each element came from.
// No counter moves: look at the values. `cargo run -p labs -- mismatch`, and `-- mismatch profile`.

constexpr int ROWS = 64, BK = 64;                      // tiles of A (M rows) and B (N rows), both along K: rows of 128 bytes
constexpr int THREADS = 128;                           // one warpgroup

struct alignas(64) TensorMap { unsigned char opaque[128]; };

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// Loads a (ROWS, BK) tile in panels of ROWS rows of `width` bytes, one panel after the other.
__device__ void load(unsigned char* tile, const TensorMap& map, int column, int row, int width, unsigned long long* barrier)
{
    for (int panel = 0; panel < BK * 2 / width; ++panel)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(address(tile + panel * ROWS * width)), "l"(&map), "r"(column + panel * width / 2), "r"(row),
                        "r"(address(barrier)) : "memory");
}

__device__ void init(unsigned long long* barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" :: "r"(address(barrier)) : "memory");
}

__device__ void expect(unsigned long long* barrier, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;}"
                 :: "r"(address(barrier)), "r"(parity) : "memory");
}

// The tile, beginning at byte `column` of its rows. The rows of a panel follow each other in groups of 8; the leading
// offset is only used without a swizzle, as the distance between columns of 16 bytes. mode: 0 none, 1 128, 2 64, 3 32.
__device__ unsigned long long descriptor(const unsigned char* tile, int column, int width, int mode)
{
    const unsigned start = address(tile) + column / width * ROWS * width + column % width;
    return (start & 0x3ffff) >> 4 | (unsigned long long)(ROWS * width >> 4) << 16
         | (unsigned long long)(8 * width >> 4) << 32 | (unsigned long long)mode << 62;
}

#define FLOATS(t) "+f"(c[t]), "+f"(c[t + 1]), "+f"(c[t + 2]), "+f"(c[t + 3]), "+f"(c[t + 4]), "+f"(c[t + 5]), "+f"(c[t + 6]), "+f"(c[t + 7])

// c += a b for a (64, 16) and b (16, 64), both along K. If add is 0, c = a b.
__device__ void wgmma(float (&c)[32], unsigned long long a, unsigned long long b, int add)
{
    asm volatile("{.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "
                 "%23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 0;}"
                 : FLOATS(0), FLOATS(8), FLOATS(16), FLOATS(24) : "l"(a), "l"(b), "r"(add));
}

// C (64, 64) = A B^T. A is loaded in rows of `loaded` bytes and is read as rows of `width` bytes in this mode.
extern "C" __global__ void __launch_bounds__(THREADS)
mismatch(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* C, int loaded, int width, int mode)
{
    __shared__ __align__(1024) unsigned char As[ROWS * BK * 2], Bs[ROWS * BK * 2];
    __shared__ unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        init(&full);
        expect(&full, sizeof As + sizeof Bs);
        load(As, A, 0, 0, loaded, &full);
        load(Bs, B, 0, 0, 128, &full);
    }
    __syncthreads();
    wait(&full, 0);

    // Compute. 16 elements of K are 32 bytes. B is read as it was written, in rows of 128 bytes.
    float c[32];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    #pragma unroll
    for (int k = 0; k < BK * 2; k += 32)
        wgmma(c, descriptor(As, k, width, mode), descriptor(Bs, k, 128, 1), k);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");

    // Store.
    #pragma unroll
    for (int i = 0; i < 32; ++i)
        C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = c[i];
}
