// SPDX-License-Identifier: MIT
#include "schemes.hpp"

#include "common/encoding.hpp"

#include <tq/interop/eigen.hpp>
#include <tq/scheme/named_schemes.hpp>

#include <span>

namespace {

Scheme named(const std::string& name, bool quick = false) {
  return {name, tq::named_scheme(name), quick};
}

tq::QuantSpec grouped(const std::string& type, int size, const std::string& symmetry) {
  return {.type = type, .granularity = "per_group", .symmetry = symmetry, .group_size = size};
}

}  // namespace

std::vector<Scheme> schemes() {
  return {
      named("bfloat16"),
      named("float16", true),
      {"float8_e4m3fn per_channel", {.type = "float8_e4m3fn"}},
      named("float8_e4m3fn"),
      named("float8_e5m2"),
      named("mxfp8_e4m3"),
      named("mxfp8_e5m2"),
      named("mxint8"),
      {"int8 per_channel", tq::named_scheme("int8"), true},
      named("mxfp6_e2m3"),
      named("mxfp6_e3m2"),
      {"int6 per_channel", tq::named_scheme("int6")},
      {"int5 per_channel", tq::named_scheme("int5")},
      {"int4 per_group 32 asymmetric", grouped("int4", 32, "asymmetric")},
      {"int4 per_group 32", tq::named_scheme("int4_g32"), true},
      {"nvfp4 (per_group 16)", tq::named_scheme("nvfp4"), true},
      {"nf4 (per_group 64)", tq::named_scheme("nf4"), true},
      {"iq4_nl (per_group 32)", tq::named_scheme("iq4_nl")},
      {"bnb_fp4 (per_group 64)", tq::named_scheme("bnb_fp4")},
      {"mxfp4 (per_group 32)", tq::named_scheme("mxfp4"), true},
      {"nf4_double (per_group 64)", tq::named_scheme("nf4_double")},
      {"int4 per_channel", tq::named_scheme("int4")},
      {"int3 per_group 32 asymmetric", grouped("int3", 32, "asymmetric")},
      {"int3 per_group 32", tq::named_scheme("int3_g32")},
      {"int2 per_group 16 asymmetric", grouped("int2", 16, "asymmetric")},
      {"int2 per_group 32 asymmetric", grouped("int2", 32, "asymmetric"), true},
      {"ternary per_channel, by mean", tq::named_scheme("ternary")},
      {"ternary per_group 32", grouped("ternary", 32, "symmetric")},
      {"binary per_channel, by mean", tq::named_scheme("binary")},
      {"binary per_channel, by max", {.type = "binary"}},
  };
}

Compressed compressed(const Model& model, const tq::QuantSpec& spec) {
  Compressed out{model, 0};
  for_each_matrix(out.model, [&](Matrix& w) {
    const tq::EncodedTensor stored = examples::encoded(tq::view(w), spec);
    out.matrix_bytes += examples::layout_of(spec, stored.shape).bytes();
    examples::decode(stored, std::span(w.data(), static_cast<std::size_t>(w.size())));
  });
  return out;
}
