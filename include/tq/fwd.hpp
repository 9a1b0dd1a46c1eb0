// SPDX-License-Identifier: MIT
#pragma once
// The names of tq without their definitions: enough to declare functions that take them.

#include <tq/config.hpp>

#include <cstddef>

namespace tq {

enum class errc : unsigned char;
class error;

template <int Bits, bool Signed>
  requires((Bits >= 2 && Bits <= 8) || Bits == 16 || (Bits == 32 && Signed))
struct basic_int;
using int2 = basic_int<2, true>;
using int4 = basic_int<4, true>;
using int8 = basic_int<8, true>;
using int16 = basic_int<16, true>;
using int32 = basic_int<32, true>;
using uint2 = basic_int<2, false>;
using uint4 = basic_int<4, false>;
using uint8 = basic_int<8, false>;
using uint16 = basic_int<16, false>;

class Shape;
template <class T>
class TensorView;
using ConstTensorView = TensorView<const float>;

struct PerTensor;
struct PerToken;
template <int Axis>
class PerChannel;
template <int Size, int Axis>
class PerGroup;
template <int Rows, int Cols>
class PerBlock;

struct Symmetric;
struct SymmetricNarrow;
struct Asymmetric;
struct FloatOffset;

struct LowFirst;
struct HighFirst;
struct Unpacked;
struct FiveInByte;

struct ErrorMetrics;
class AbsMax;
class MeanAbs;
class MeanStd;
class MinMax;
class MovingAverageMinMax;
struct MinMaxCalibrator;
struct MeanAbsCalibrator;
struct Serial;

}  // namespace tq
