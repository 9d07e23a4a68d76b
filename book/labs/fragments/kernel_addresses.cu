// Which lanes' addresses does `ldmatrix` use? With x1 those of lanes 0 to 7, with x2 of lanes 0 to 15, with x4 of all.
// The other lanes' addresses are far outside shared memory here, and are ignored. Still every lane gets its registers.
// The counter to watch is wavefronts: one per matrix. `cargo run -p labs -- fragments profile --only x1,x2,x4`.

constexpr int CHUNKS = 2, CHUNK = 8;                   // a row is 32 bytes, two chunks of 8 f16
constexpr unsigned NOWHERE = 0x7ffff0;

// As in kernel.cu.
__device__ int place(int row, int chunk) { return (row * CHUNKS + (chunk ^ (row >> 2 & 1))) * CHUNK; }

__device__ void fill(unsigned short* tile, const uint4* in)
{
    const int row = threadIdx.x % 16, chunk = threadIdx.x / 16;
    *(uint4*)&tile[place(row, chunk)] = in[row * CHUNKS + chunk];
    __syncthreads();
}

// Lane l's address, if it is one of those that are used.
__device__ unsigned address(const unsigned short* tile, int used)
{
    const int lane = threadIdx.x;
    return lane < used ? (unsigned)__cvta_generic_to_shared(&tile[place(lane % 16, lane / 16)]) : NOWHERE;
}

extern "C" __global__ void x1(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    fill(tile, in);
    uint4 r = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r.x) : "r"(address(tile, 8)) : "memory");
    out[threadIdx.x] = r;
}

extern "C" __global__ void x2(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    fill(tile, in);
    uint4 r = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r.x), "=r"(r.y) : "r"(address(tile, 16)) : "memory");
    out[threadIdx.x] = r;
}

extern "C" __global__ void x4(const uint4* in, uint4* out)
{
    __shared__ __align__(128) unsigned short tile[16 * CHUNKS * CHUNK];
    fill(tile, in);
    uint4 r = {};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "r"(address(tile, 32)) : "memory");
    out[threadIdx.x] = r;
}
