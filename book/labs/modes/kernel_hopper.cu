// Modes: TMA loads tiles in one of four layouts, with rows of 16, 32, 64 or 128 bytes, and wgmma reads them in the
// same layout. wgmma's wavefronts are the same in all of them: what a swizzle gains is fewer, longer copies, and rows
// that ordinary loads read without conflicts. The counter to watch is the wavefronts of `read_back`.
// `cargo run -p labs -- modes profile --only "read back: 32B"`.

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

// C[block] (64, 64) += A[block % tiles] B^T, `repeat` times for each tile that is loaded.
extern "C" __global__ void __launch_bounds__(THREADS)
multiply(const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, float* C, int tiles, int K, int repeat,
         int width, int mode)
{
    __shared__ __align__(1024) unsigned char As[ROWS * BK * 2], Bs[ROWS * BK * 2];
    __shared__ unsigned long long full;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0)
        init(&full);
    __syncthreads();
    float c[32];
    for (int k0 = 0, phase = 0; k0 < K; k0 += BK, phase ^= 1) {
        // Load.
        if (threadIdx.x == 0) {
            expect(&full, sizeof As + sizeof Bs);
            load(As, A, k0, blockIdx.x % tiles * ROWS, width, &full);
            load(Bs, B, k0, 0, width, &full);
        }
        wait(&full, phase);

        // Compute. 16 elements of K are 32 bytes.
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int i = 0; i < repeat; ++i)
            #pragma unroll
            for (int k = 0; k < BK * 2; k += 32)
                wgmma(c, descriptor(As, k, width, mode), descriptor(Bs, k, width, mode), k0 | i | k);
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }

    // Store.
    C += blockIdx.x * ROWS * 64;
    #pragma unroll
    for (int i = 0; i < 32; ++i)
        C[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = c[i];
}

// Reads a tile back with ordinary loads of 16 bytes, twice. `mask` is 0, 1, 3 or 7: TMA XORs address bits from bit 7 on
// into the chunk number. One warp; out is (2, ROWS, BK).
extern "C" __global__ void read_back(const __grid_constant__ TensorMap A, uint4* out, int width, int mask)
{
    __shared__ __align__(1024) unsigned char tile[ROWS * BK * 2];
    __shared__ unsigned long long full;
    if (threadIdx.x == 0) {
        init(&full);
        expect(&full, sizeof tile);
        load(tile, A, 0, 0, width, &full);
    }
    __syncwarp();
    wait(&full, 0);
    auto read = [&](int row, int chunk) {
        const int plain = chunk * 16 / width * ROWS * width + row * width + chunk * 16 % width;
        return *(const uint4*)&tile[plain ^ (plain >> 7 & mask) << 4];
    };
    const int lane = threadIdx.x, eighth = lane % 8;
    #pragma unroll 1
    for (int i = 0; i < ROWS / 4; ++i) {
        // By rows: 8 lanes read the 8 chunks of a row.
        const int row = i * 4 + lane / 8;
        out[row * 8 + eighth] = read(row, eighth);

        // By columns, as a matrix of `ldmatrix` is read: 8 lanes read the same chunk of 8 rows.
        const int chunk = i % 2 * 4 + lane / 8, below = i / 2 * 8 + eighth;
        out[(ROWS + below) * 8 + chunk] = read(below, chunk);
    }
}
