// The same with 4 x 4 elements of 32 bytes: the 32 banks are four places of 8 banks each, and a row of the tile fills
// all four. Any mapping works that puts the elements of each column, and those of each row, into four different places.
// The counter to watch is the wavefronts of the read. `cargo run -p labs -- transpose --only "4x4 plain,4x4 XOR"`.

constexpr int SIDE = 4, PART = 8;                      // an element is 8 floats, copied by 8 lanes

// in is (SIDE, SIDE, PART), out its transpose; column col of row `row` is at places[row][col]. One warp.
extern "C" __global__ void mapped(const float* in, float* out, const int* places)
{
    __shared__ float tile[SIDE][SIDE][PART];
    const int lane = threadIdx.x, element = lane / PART, part = lane % PART;
    #pragma unroll 1
    for (int row = 0; row < SIDE; ++row)
        tile[row][places[row * SIDE + element]][part] = in[row * 32 + lane];
    __syncthreads();
    #pragma unroll 1
    for (int col = 0; col < SIDE; ++col)
        out[col * 32 + lane] = tile[element][places[element * SIDE + col]][part];
}
