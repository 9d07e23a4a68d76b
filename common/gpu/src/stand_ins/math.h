// What device code expects of <cmath>: macros, std:: names, and the overloads for integers and mixed types that a host's
// <cmath> adds to CUDA's functions (C++17, 29.9.1: they compute in double).
#ifndef STAND_IN_FOR_MATH
#define STAND_IN_FOR_MATH
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define HUGE_VALF __int_as_float(0x7f800000)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

template <typename T> struct stand_in_integer {};
#define STAND_IN(T) template <> struct stand_in_integer<T> { typedef double type; };
STAND_IN(bool) STAND_IN(char) STAND_IN(signed char) STAND_IN(unsigned char) STAND_IN(short) STAND_IN(unsigned short)
STAND_IN(int) STAND_IN(unsigned) STAND_IN(long) STAND_IN(unsigned long) STAND_IN(long long) STAND_IN(unsigned long long)
#undef STAND_IN
#define STAND_IN(f)                                                                        \
    template <typename T> __device__ inline typename stand_in_integer<T>::type f(T x) { \
        return f(static_cast<double>(x));                                                  \
    }
STAND_IN(sqrt) STAND_IN(cbrt) STAND_IN(exp) STAND_IN(exp2) STAND_IN(expm1) STAND_IN(log) STAND_IN(log2) STAND_IN(log10)
STAND_IN(log1p) STAND_IN(sin) STAND_IN(cos) STAND_IN(tan) STAND_IN(asin) STAND_IN(acos) STAND_IN(atan) STAND_IN(sinh)
STAND_IN(cosh) STAND_IN(tanh) STAND_IN(erf) STAND_IN(erfc) STAND_IN(ceil) STAND_IN(floor) STAND_IN(trunc) STAND_IN(round)
STAND_IN(fabs)
#undef STAND_IN
__device__ inline double pow(float x, double y) { return pow(static_cast<double>(x), y); }
__device__ inline double pow(double x, float y) { return pow(x, static_cast<double>(y)); }
#define STAND_IN(Y)                                                                                 \
    template <typename T> __device__ inline typename stand_in_integer<T>::type pow(T x, Y y) {     \
        return pow(static_cast<double>(x), static_cast<double>(y));                                 \
    }
STAND_IN(float) STAND_IN(double) STAND_IN(int)
#undef STAND_IN

namespace std {
using ::abs; using ::acos; using ::acosh; using ::asin; using ::asinh; using ::atan; using ::atan2; using ::atanh;
using ::cbrt; using ::ceil; using ::copysign; using ::cos; using ::cosh; using ::erf; using ::erfc; using ::exp;
using ::exp2; using ::expm1; using ::fabs; using ::fdim; using ::floor; using ::fma; using ::fmax; using ::fmin;
using ::fmod; using ::hypot; using ::ilogb; using ::isfinite; using ::isinf; using ::isnan; using ::ldexp; using ::lgamma;
using ::llrint; using ::llround; using ::log; using ::log10; using ::log1p; using ::log2; using ::logb; using ::lrint;
using ::lround; using ::nearbyint; using ::nextafter; using ::pow; using ::remainder; using ::rint; using ::round;
using ::scalbn; using ::signbit; using ::sin; using ::sinh; using ::sqrt; using ::tan; using ::tanh; using ::tgamma;
using ::trunc;
using ::acosf; using ::atan2f; using ::cosf; using ::expf; using ::fabsf; using ::floorf; using ::fmaxf; using ::fminf;
using ::fmodf; using ::log2f; using ::logf; using ::powf; using ::roundf; using ::sinf; using ::sqrtf; using ::tanhf;
}
#endif
