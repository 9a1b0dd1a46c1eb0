// SPDX-License-Identifier: MIT
// Headers that claim more than there is are refused before any of it is allocated: these run with
// little more memory than the program has.
#include <tq/checkpoints/decode_checkpoint.hpp>
#include <tq/checkpoints/quantized_checkpoint.hpp>
#include <tq/containers/npy.hpp>
#include <tq/containers/npz.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/observer_json.hpp>
#include <tq/scheme/any_granularity.hpp>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "support/catch.hpp"
#include "unit/files/io_test.hpp"

using namespace io_test;
using tq::errc;
using tq::io::ByteSource;

namespace {

// Sanitizers reserve more than any limit allows; they refuse absurd sizes themselves.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool can_limit = false;
#elif defined(__has_feature)
constexpr bool can_limit = !__has_feature(address_sanitizer);
#else
constexpr bool can_limit = true;
#endif

// 256 MiB more than is in use, until the end of a scope.
class MemoryLimit {
 public:
  MemoryLimit() {
    ::getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(pages) * 4096 + (rlim_t{256} << 20);
    if (can_limit && pages != 0) ::setrlimit(RLIMIT_AS, &limit);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

// Runs a call under the limit; std::bad_alloc leaves it.
template <class F>
Outcome outcome_within(F&& call) {
  const MemoryLimit limit;
  return outcome_of(call);
}

// Little-endian, in any number of bytes.
std::string number(std::uint64_t v, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i, v >>= 8) out.push_back(static_cast<char>(v));
  return out;
}

std::string npy_of(const std::string& shape, const std::string& descr = "<f4") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + number(header.size(), 2) + header +
         std::string(64, '\1');
}

// An archive of one member that claims a size, by a zip64 field.
std::string npz_of(const std::string& data, std::uint64_t size, std::uint64_t stored, int method) {
  const std::string all = std::string(4, '\xff'), name = "w.npy";
  const std::string middle = number(45, 2) + number(0, 2) +
                             number(static_cast<std::uint64_t>(method), 2) + number(0, 8) + all +
                             all + number(name.size(), 2) + number(20, 2);
  const std::string extra = number(1, 2) + number(16, 2) + number(size, 8) + number(stored, 8);
  const std::string local = "PK\3\4" + middle + name + extra + data;
  const std::string entry =
      "PK\1\2" + number(45, 2) + middle + number(0, 10) + number(0, 4) + name + extra;
  return local + entry + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(entry.size(), 4) + number(local.size(), 4) + number(0, 2);
}

std::string safetensors_of(const std::string& header, std::size_t data) {
  return number(header.size(), 8) + header + std::string(data, '\1');
}

template <class Reader>
Outcome opened(const std::string& content) {
  const std::vector<std::byte> bytes = to_bytes(content);
  return outcome_within([&] { static_cast<void>(Reader(ByteSource::from_memory(bytes))); });
}

}  // namespace

TEST_CASE("the limit of these tests holds", "[fault]") {
  if (!can_limit) return;
  const MemoryLimit limit;
  CHECK_THROWS_AS(std::vector<char>(std::size_t{1} << 30), std::bad_alloc);
}

TEST_CASE(".npy headers of absurd sizes are malformed", "[fault]") {
  using tq::io::NpyReader;
  for (const char* shape :
       {"(1152921504606846976,)", "(4294967296, 4294967296)", "(18446744073709551615,)",
        "(1099511627776,)", "(3, 1152921504606846976)"})
    CHECK(opened<NpyReader>(npy_of(shape)).code == errc::malformed);
  CHECK(
      opened<NpyReader>(std::string("\x93NUMPY\x02\x00", 8) + number(0xfffffff0u, 4) + "{'").code ==
      errc::malformed);
  CHECK(opened<NpyReader>(npy_of("(1152921504606846976, 0)")).code == errc::ok);  // has no elements
}

TEST_CASE("archives of absurd sizes are malformed", "[fault]") {
  using tq::io::NpzReader;
  const std::string npy = npy_of("(16,)");
  constexpr std::uint64_t huge = std::uint64_t{1} << 60;
  REQUIRE(opened<NpzReader>(npz_of(npy, npy.size(), npy.size(), 0)).code == errc::ok);
  CHECK(opened<NpzReader>(npz_of(npy, huge, huge, 0)).code == errc::malformed);
  CHECK(opened<NpzReader>(npz_of(npy, huge, npy.size(), 0)).code == errc::malformed);
  CHECK(opened<NpzReader>(npz_of(npy, huge, npy.size(), 8)).code == errc::malformed);
  const std::string claims = npy_of("(1152921504606846976,)");
  CHECK(opened<NpzReader>(npz_of(claims, claims.size(), claims.size(), 0)).code == errc::malformed);
  for (const std::uint64_t entries : {std::uint64_t{0xffff}, huge}) {
    const std::string end64 = "PK\6\6" + number(44, 8) + number(45, 4) + number(0, 8) +
                              number(entries, 8) + number(entries, 8) + number(huge, 8) +
                              number(0, 8);
    const std::string end = "PK\6\7" + number(0, 4) + number(0, 8) + number(1, 4) + "PK\5\6" +
                            number(0, 4) + std::string(12, '\xff') + number(0, 2);
    CHECK(opened<NpzReader>(end64 + end).code == errc::malformed);
  }
}

TEST_CASE("safetensors headers of absurd sizes are malformed", "[fault]") {
  using tq::io::SafetensorsReader;
  for (const std::uint64_t length :
       {std::uint64_t{1} << 60, std::uint64_t{100'000'001}, ~std::uint64_t{0}})
    CHECK(opened<SafetensorsReader>(number(length, 8) + "{}").code == errc::malformed);
  for (
      const char* tensor :
      {R"({"w":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,4611686018427387904]}})",
       R"({"w":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,64]}})",
       R"({"w":{"dtype":"U8","shape":[4294967296,4294967297],"data_offsets":[0,64]}})"})
    CHECK(opened<SafetensorsReader>(safetensors_of(tensor, 64)).code == errc::malformed);
}

TEST_CASE("quantized weights of absurd sizes cannot be read, which is said", "[fault]") {
  const auto left_alone = [](const std::vector<tq::io::Tensor>& tensors) {
    std::vector<tq::io::TensorInfo> infos;
    for (const tq::io::Tensor& t : tensors)
      infos.push_back({t.name, t.dtype, t.shape, 0, t.bytes.size()});
    const tq::io::ReadTensor read = [&](const std::string& name) {
      for (const tq::io::Tensor& t : tensors)
        if (t.name == name) return t;
      return tq::io::Tensor{};
    };
    tq::io::QuantizedCheckpoint found;
    const Outcome o = outcome_within([&] {
      found = tq::io::find_quantized(infos, read);
      for (const tq::io::CheckpointWeight& w : found.weights)
        static_cast<void>(tq::io::decode_checkpoint(w, read));
    });
    CHECK(o.code == errc::ok);
    CHECK(found.weights.empty());
    return found.left_alone.size();
  };
  const auto tensor = [](const char* name, tq::io::DType dtype, std::vector<std::size_t> shape,
                         std::string content = {}) {
    content.resize(static_cast<std::size_t>(*tq::io::storage_bytes(dtype, shape)), '\1');
    return tq::io::Tensor{name, dtype, std::move(shape), to_bytes(content)};
  };
  using tq::io::DType;
  // 8 * 2^61 bits of codes are none modulo 2^64.
  for (const std::uint64_t k :
       {(std::uint64_t{1} << 61) + 4, std::uint64_t{1} << 60, (std::uint64_t{1} << 62) + 8})
    CHECK(left_alone({tensor("l.weight_packed", DType::i32, {2, 1}),
                      tensor("l.weight_scale", DType::f32, {2, 1}),
                      tensor("l.weight_shape", DType::i64, {2}, number(2, 8) + number(k, 8))}) ==
          3);
  for (const char* shape :
       {"[4294967296,4294967296]", "[1099511627776,1048576]", "[1099511627776]"}) {
    const std::string state = R"({"quant_type":"nf4","blocksize":64,"dtype":"float16","shape":)" +
                              std::string(shape) + "}";
    CHECK(left_alone(
              {tensor("w", DType::u8, {32, 1}), tensor("w.absmax", DType::f32, {1}),
               tensor("w.quant_map", DType::f32, {16}),
               tensor("w.quant_state.bitsandbytes__nf4", DType::u8, {state.size()}, state)}) == 4);
  }
}

TEST_CASE("documents that claim many bins or slots are malformed", "[fault]") {
  using Bins = tq::BasicHistogram<2048>;
  for (const char* counts : {"[-9223372036854775808]", "[1, -4294967296, 1]", "[-2047, -2, 1]"}) {
    const std::string text =
        R"({"accumulator": "histogram", "exponent": 0, "first": 0, "counts": )" +
        std::string(counts) + R"(, "min": 0, "max": 1, "nan": 0, "infinite": 0})";
    CHECK(outcome_within([&] {
            static_cast<void>(tq::io::accumulator_from_json<Bins>(tq::io::parse_json(text)));
          }).code == errc::malformed);
  }
}
