// Fragment store: an accumulator's registers, as pairs of f16, go to shared memory in rows: with 4-byte stores, with 16-byte
// stores after shuffles, or with `stmatrix`, the reverse of `ldmatrix` that came with Hopper. `mask` is 7 for the XOR, 0 for plain rows.
// The counter to watch is the wavefronts of "Put". `cargo run -p labs -- fragment_store profile --only "stmatrix, plain"`.

constexpr int ROWS = 16, COLUMNS = 64, CHUNK = 8;      // a row is 128 bytes, 8 chunks of 8 f16

// The beginning of chunk `chunk` of row `row`.
__device__ int place(int row, int chunk, int mask) { return row * COLUMNS + (chunk ^ (row & mask)) * CHUNK; }

// Lane l holds, of every 8 columns, two of row l / 4 in one register and two of row l / 4 + 8 in the next.
__device__ unsigned held(const unsigned* in, int chunk, int half)
{
    const int lane = threadIdx.x;
    return in[(lane / 4 + half * 8) * (COLUMNS / 2) + chunk * 4 + lane % 4];
}

// Row by row to global memory, 16 bytes per lane.
__device__ void copy_out(const unsigned short* tile, uint4* out, int mask)
{
    __syncthreads();
    #pragma unroll 1
    for (int i = threadIdx.x; i < ROWS * 8; i += 32)
        out[i] = *(const uint4*)&tile[place(i / 8, i % 8, mask)];
}

// in and out are (ROWS, COLUMNS) f16; one warp. One register at a time: eight rows, 4 bytes in each, at offset 0, 4, 8 or 12.
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

// Element i of r, for an i that is known only at run time, without putting the array into local memory.
__device__ unsigned pick(const unsigned (&r)[4], int i) { return i & 2 ? (i & 1 ? r[3] : r[2]) : (i & 1 ? r[1] : r[0]); }

// Four registers at a time, from four neighboring chunks. The four lanes of a row exchange them, so that each has a whole chunk.
extern "C" __global__ void shuffles(const unsigned* in, uint4* out, int mask)
{
    __shared__ __align__(128) unsigned short tile[ROWS * COLUMNS];
    const int lane = threadIdx.x, mine = lane % 4;
    #pragma unroll 1
    for (int i = 0; i < COLUMNS / CHUNK / 2; ++i) {
        const int chunk = i / 2 * 4, half = i % 2;
        const unsigned r[4] = {held(in, chunk, half), held(in, chunk + 1, half), held(in, chunk + 2, half), held(in, chunk + 3, half)};
        // Put. In round s, lanes q and q ^ s exchange the register that the other needs; in round 0 each keeps its own.
        unsigned w[4] = {pick(r, mine)};
        #pragma unroll
        for (int s = 1; s < 4; ++s)
            w[s] = __shfl_xor_sync(~0u, pick(r, mine ^ s), s);
        *(uint4*)&tile[place(lane / 4 + half * 8, chunk + mine, mask)] =
            make_uint4(pick(w, mine), pick(w, mine ^ 1), pick(w, mine ^ 2), pick(w, mine ^ 3));

    }
    copy_out(tile, out, mask);
}

// Four registers, that is, four 8x8 matrices, at a time: lane l gives the address of row l % 8 of matrix l / 8.
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
