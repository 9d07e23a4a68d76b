// Every lane goes through a row of its own length, as in a product with a sparse matrix; lanes leave the loop one by one.
// cargo ladder emulate: --grid 256 --block 256
//   --arg 'f32[65536]=normal' --arg 'f32[65536]=zeros' --arg 65536
__global__ void rows(const float* in, float* out, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < t * 7 % 61 + 3; ++k) {
        const float value = in[(t + k * 97) % n];
        if (k % 3 == t % 3)
            sum += __expf(value);
        else
            sum -= value * value;
    }
    out[t] = sum;
}
