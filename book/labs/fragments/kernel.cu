// Fragments: operand A of `mma.m16n8k16` is loaded into its registers in four ways, from a (16, 16) tile of f16.
// The counters to watch are the instructions of "Bring", and its wavefronts: all four give the same registers.
// `cargo run -p labs -- fragments profile`.

constexpr int CHUNKS = 2, CHUNK = 8;                   // a row is 32 bytes, two chunks of 8 f16

// Chunk c of row r is at position 2r + c, with one bit of the row XORed in against conflicts: 4 rows fill the banks.
__device__ int place(int row, int chunk) { return (row * CHUNKS + (chunk ^ (row >> 2 & 1))) * CHUNK; }

// Fills the tile: lane l copies chunk l / 16 of row l % 16.
__device__ void fill(unsigned short* tile, const uint4* in)
{
    const int row = threadIdx.x % 16, chunk = threadIdx.x / 16;
    *(uint4*)&tile[place(row, chunk)] = in[row * CHUNKS + chunk];
    __syncthreads();
}

// Lane l holds row l / 4 (+ 8 in registers 1 and 3), columns 2 (l % 4) and the next (+ 8 in registers 2 and 3).
// One f16 at a time: eight loads, then two are packed into each register.
extern "C" __global__ void scalars(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    const int lane = threadIdx.x;
    fill(tile, in);
    unsigned r[4];
    // Bring.
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const unsigned short* pair = &tile[place(lane / 4 + i % 2 * 8, i / 2) + lane % 4 * 2];
        r[i] = *(volatile const unsigned short*)pair | *(volatile const unsigned short*)(pair + 1) << 16;
    }

    out[lane] = make_uint4(r[0], r[1], r[2], r[3]);
}

// One register at a time.
extern "C" __global__ void words(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    const int lane = threadIdx.x;
    fill(tile, in);
    unsigned r[4];
    // Bring.
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        r[i] = *(const unsigned*)&tile[place(lane / 4 + i % 2 * 8, i / 2) + lane % 4 * 2];

    out[lane] = make_uint4(r[0], r[1], r[2], r[3]);
}

// One chunk at a time: lane l reads chunk l / 16 of row l % 16, then passes each of its four words to the lane that needs it.
extern "C" __global__ void shuffles(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    const int lane = threadIdx.x;
    fill(tile, in);
    unsigned r[4];
    // Bring.
    const uint4 mine = *(const uint4*)&tile[place(lane % 16, lane / 16)];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int owner = lane / 4 + i % 2 * 8 + i / 2 * 16;
        const unsigned x = __shfl_sync(~0u, mine.x, owner), y = __shfl_sync(~0u, mine.y, owner);
        const unsigned z = __shfl_sync(~0u, mine.z, owner), w = __shfl_sync(~0u, mine.w, owner);
        r[i] = lane % 4 == 0 ? x : lane % 4 == 1 ? y : lane % 4 == 2 ? z : w;
    }

    out[lane] = make_uint4(r[0], r[1], r[2], r[3]);
}

// All four registers of all lanes at once: lane l gives the address of chunk l / 16 of row l % 16.
extern "C" __global__ void ldmatrix(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    const int lane = threadIdx.x;
    fill(tile, in);
    unsigned r[4];
    // Bring.
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((unsigned)__cvta_generic_to_shared(&tile[place(lane % 16, lane / 16)])) : "memory");

    out[lane] = make_uint4(r[0], r[1], r[2], r[3]);
}
