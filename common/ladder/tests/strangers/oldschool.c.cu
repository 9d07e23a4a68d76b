/* C of another time: typedefs of structs, pointers to functions, tables, labels, everything static.
 * cargo ladder emulate: --kernel sobel --grid 1 --block 16,16 --arg 'u8[16,16]=iota' --arg 'u8[16,16]=poison' --arg 16 --arg 16
 * expect 1: 0 0 0 0 0 0
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

typedef unsigned char uchar;
typedef struct { int width, height; uchar *pixels; } Image;
typedef int (*filter_t)(const Image *in, Image *out);
enum { MODE_CPU = 0, MODE_GPU, MODE_COUNT };
static const char *const mode_names[MODE_COUNT] = { "cpu", "gpu" };
static struct option long_options[] = {
    { "help", no_argument, NULL, 'h' },
    { "mode", required_argument, 0, 'm' },
    { NULL, 0, NULL, 0 }
};
struct list { struct list *next; Image image; } *head = NULL;
union bits { float f; unsigned u; };
static int sobel_cpu(const Image *in, Image *out);
static filter_t filters[] = { sobel_cpu, NULL };

static double now(void) { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec + t.tv_usec * 1e-6; }

static int sobel_cpu(const Image *in, Image *out)
{
    int i;
    if (!in) goto fail;
    for (i = 0; i < in->width; i++) { out->pixels[i] = in->pixels[i]; }
    return 0;
fail:
    fprintf(stderr, "%s: %s\n", "sobel", strerror(errno));
    return -1;
}

__device__ uchar at(const uchar *in, int x, int y, int w, int h) { return in[min(max(y, 0), h - 1) * w + min(max(x, 0), w - 1)]; }

__global__ void sobel(const uchar *in, uchar *out, int w, int h)
{
    int x = threadIdx.x, y = threadIdx.y;
    union bits b;
    int gx = at(in, x + 1, y, w, h) - at(in, x - 1, y, w, h);
    b.f = (float)abs(gx) - 2.0f;
    out[y * w + x] = b.u >> 31 ? 0 : (x == 0 || x == w - 1) ? 1 : 0;
}

int main(argc, argv) int argc; char **argv;
{
    int c, index = 0;
    while ((c = getopt_long(argc, argv, "hm:", long_options, &index)) != -1) switch (c) { case 'h': default: return 1; }
    printf("%s %f %d\n", mode_names[MODE_GPU], now(), filters[0](&head->image, NULL));
    return 0;
}
