// Transpose: a warp writes a tile of 32 x 32 floats to shared memory by rows and reads it by columns. The counter to
// watch is the wavefronts of the reads: a column of the plain tile is in one bank, a column of a padded or swizzled
// tile in all 32. `cargo run -p labs -- transpose profile`.

constexpr int TILE = 32;                               // a row of 32 floats is as wide as the 32 banks

// in is (TILE, TILE), out its transpose; one warp. A loop is not unrolled, so that each access stays one instruction.
extern "C" __global__ void plain(const float* in, float* out)
{
    __shared__ float tile[TILE][TILE];
    const int lane = threadIdx.x;
    #pragma unroll 1
    for (int row = 0; row < TILE; ++row)
        tile[row][lane] = in[row * TILE + lane];
    __syncthreads();
    #pragma unroll 1
    for (int col = 0; col < TILE; ++col)
        out[col * TILE + lane] = tile[lane][col];
}

// One unused float after each row shifts the next row by one bank.
extern "C" __global__ void padded(const float* in, float* out)
{
    __shared__ float tile[TILE][TILE + 1];
    const int lane = threadIdx.x;
    #pragma unroll 1
    for (int row = 0; row < TILE; ++row)
        tile[row][lane] = in[row * TILE + lane];
    __syncthreads();
    #pragma unroll 1
    for (int col = 0; col < TILE; ++col)
        out[col * TILE + lane] = tile[lane][col];
}

// Column col of row `row` is stored in the place of column col ^ row: rows stay where they are, and no byte is unused.
extern "C" __global__ void swizzled(const float* in, float* out)
{
    __shared__ float tile[TILE][TILE];
    const int lane = threadIdx.x;
    #pragma unroll 1
    for (int row = 0; row < TILE; ++row)
        tile[row][lane ^ row] = in[row * TILE + lane];
    __syncthreads();
    #pragma unroll 1
    for (int col = 0; col < TILE; ++col)
        out[col * TILE + lane] = tile[lane][col ^ lane];
}
