// Fragment store: an accumulator's registers, as pairs of f16, go to shared memory in rows, with 4-byte stores or with
// `stmatrix`, the reverse of `ldmatrix` that came with Hopper. Both need the XOR: `mask` is 7, or 0 for plain rows.
// The counter to watch is the wavefronts of "Put". `cargo run -p labs -- fragment_store profile --only "stmatrix, plain"`.

constexpr int ROWS = 16, COLUMNS = 64, CHUNK = 8;      // a row is 128 bytes, 8 chunks of 8 f16

// Where chunk `chunk` of row `row` begins.
__device__ int place(int row, int chunk, int mask) { return row * COLUMNS + (chunk ^ (row & mask)) * CHUNK; }

// Lane l holds, of every 8 columns, two of row l / 4 in one register and two of row l / 4 + 8 in the next.
__device__ unsigned held(const unsigned* in, int chunk, int half)
{
    const int lane = threadIdx.x;
    return in[(lane / 4 + half * 8) * (COLUMNS / 2) + chunk * 4 + lane % 4];
}

// Row by row to global memory, 16 bytes a lane.
__device__ void copy_out(const unsigned short* tile, uint4* out, int mask)
{
    __syncthreads();
    #pragma unroll 1
    for (int i = threadIdx.x; i < ROWS * 8; i += 32)
        out[i] = *(const uint4*)&tile[place(i / 8, i % 8, mask)];
}

// in and out are (ROWS, COLUMNS) f16; one warp. A register at a time: eight rows, 4 bytes of each at 0, 4, 8 or 12.
extern "C" __global__ void stores(const unsigned* in, uint4* out, int mask)
{
    __shared__ __align__(128) unsigned short tile[ROWS * COLUMNS];
    const int lane = threadIdx.x;
    #pragma unroll 1
    for (int chunk = 0; chunk < COLUMNS / CHUNK; ++chunk) {
        const unsigned low = held(in, chunk, 0), high = held(in, chunk, 1);
        // Put.
        *(unsigned*)&tile[place(lane / 4, chunk, mask) + lane % 4 * 2] = low;
        *(unsigned*)&tile[place(lane / 4 + 8, chunk, mask) + lane % 4 * 2] = high;

    }
    copy_out(tile, out, mask);
}

// Four registers, which are four 8x8 matrices, at a time: lane l names row l % 8 of matrix l / 8.
extern "C" __global__ void stmatrix(const unsigned* in, uint4* out, int mask)
{
    __shared__ __align__(128) unsigned short tile[ROWS * COLUMNS];
    const int lane = threadIdx.x;
    #pragma unroll 1
    for (int chunk = 0; chunk < COLUMNS / CHUNK; chunk += 2) {
        const unsigned r[4] = {held(in, chunk, 0), held(in, chunk, 1), held(in, chunk + 1, 0), held(in, chunk + 1, 1)};
        // Put.
        const unsigned short* row = &tile[place(lane % 16, chunk + lane / 16, mask)];
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
                     :: "r"((unsigned)__cvta_generic_to_shared(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");

    }
    copy_out(tile, out, mask);
}
