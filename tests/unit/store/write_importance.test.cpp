// SPDX-License-Identifier: MIT
// Importance matrices: their sums, and files of both forms.
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/store/importance_file.hpp>
#include <tq/store/importance_sums.hpp>
#include <tq/store/write_importance.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;

namespace {

// Sums with all bits of double, of one matrix and of three, of which the second saw no token.
ImportanceSums some_sums() {
  std::mt19937_64 random(3);
  const auto sum = [&] { return static_cast<double>(random()) * 0x1p-50; };
  ImportanceSums out;
  out.datasets = {"a", "b.txt"};
  ImportanceSums::Weight &one = out.weights["blk.0.ffn_up.weight"],
                         &three = out.weights["blk.0.ffn_up_exps.weight"];
  one.counts = {1537};
  three.counts = {100, 0, 2000};
  for (int i = 0; i < 40; ++i) one.sums.push_back(sum());
  one.sums[7] = 0.0;
  one.sums[8] = 0x1p-149;
  for (int i = 0; i < 30; ++i) three.sums.push_back(i / 10 == 1 ? 0.0 : sum());
  return out;
}

// The means that files of `sums` have, in the arithmetic of float32.
std::vector<float> means_of(const ImportanceSums::Weight& w) {
  std::vector<float> out;
  const std::size_t each = w.sums.size() / w.counts.size();
  for (std::size_t i = 0; i < w.sums.size(); ++i) {
    const auto count = static_cast<float>(w.counts[i / each]);
    out.push_back(count == 0.0f ? 1.0f : static_cast<float>(w.sums[i]) / count);
  }
  return out;
}

// Reads the older form by the text of llama.cpp.
struct OldEntry {
  std::string name;
  std::int32_t calls;
  std::vector<float> sums;
};
struct OldFile {
  std::vector<OldEntry> entries;
  std::int32_t chunks;
  std::string dataset;
};
OldFile read_old(const fs::path& path) {
  const std::string bytes = slurp(path);
  std::size_t at = 0;
  const auto number = [&] {
    std::int32_t v;
    std::memcpy(&v, bytes.data() + at, 4);
    at += 4;
    return v;
  };
  const auto text = [&] {
    const auto n = static_cast<std::size_t>(number());
    at += n;
    return bytes.substr(at - n, n);
  };
  OldFile out;
  for (std::int32_t i = number(); i > 0; --i) {
    OldEntry entry{text(), number(), {}};
    entry.sums.resize(static_cast<std::size_t>(number()));
    std::memcpy(entry.sums.data(), bytes.data() + at, 4 * entry.sums.size());
    at += 4 * entry.sums.size();
    out.entries.push_back(std::move(entry));
  }
  out.chunks = number();
  out.dataset = text();
  CHECK(at == bytes.size());
  return out;
}

}  // namespace

TEST_CASE("both forms of importance are read back bit for bit") {
  const TempDir dir;
  const ImportanceSums sums = some_sums();
  write_importance(dir / "i.gguf", sums);
  write_importance(dir / "i.dat", sums, ImportanceForm::dat);
  for (const char* const name : {"i.gguf", "i.dat"}) {
    INFO(name);
    const ImportanceFile read = read_importance(dir / name);
    REQUIRE(read.weights.size() == 2);
    for (const auto& [weight, values] : read.weights)
      CHECK(values == means_of(sums.weights.at(weight)));
    CHECK(read.chunks == 3);  // whole ones of 512 tokens
  }
  CHECK(read_importance(dir / "i.gguf").datasets == sums.datasets);
  CHECK(read_importance(dir / "i.dat").datasets == std::vector<std::string>{"b.txt"});

  const auto file = io::GgufReader::open(dir / "i.gguf");
  CHECK(file.entries().front().value == io::GgufValue(std::string("imatrix")));
  CHECK(*file.find_value("imatrix.chunk_size") == io::GgufValue(std::uint32_t{512}));
  CHECK(file.info("blk.0.ffn_up.weight.in_sum2").shape == std::vector<std::size_t>{1, 40});
  CHECK(file.info("blk.0.ffn_up_exps.weight.in_sum2").shape == std::vector<std::size_t>{3, 10});
  CHECK(file.info("blk.0.ffn_up_exps.weight.counts").shape == std::vector<std::size_t>{3, 1});

  const OldFile old = read_old(dir / "i.dat");
  REQUIRE(old.entries.size() == 2);
  CHECK(old.entries[0].name == "blk.0.ffn_up.weight");
  CHECK(old.entries[0].calls == 4);  // 1537 tokens are 4 chunks
  CHECK(old.entries[1].calls == 4);
  for (std::size_t i = 0; i < 40; ++i)
    CHECK(old.entries[0].sums[i] == 4 * means_of(sums.weights.at(old.entries[0].name))[i]);
  CHECK(old.chunks == 3);
  CHECK(old.dataset == "b.txt");
}

TEST_CASE("importance sums are merged by name, also with those of files") {
  const TempDir dir;
  const ImportanceSums sums = some_sums();
  ImportanceSums twice = sums;
  twice.merge(sums);
  CHECK(twice.weights.at("blk.0.ffn_up.weight").counts == std::vector<std::uint64_t>{3074});
  CHECK(twice.datasets.size() == 4);
  for (const auto& [name, weight] : twice.weights)
    for (std::size_t i = 0; i < weight.sums.size(); ++i)
      CHECK(weight.sums[i] == 2 * sums.weights.at(name).sums[i]);

  write_importance(dir / "i.gguf", sums);
  ImportanceSums read = read_importance_sums(dir / "i.gguf");
  CHECK(read.weights.at("blk.0.ffn_up_exps.weight").counts ==
        std::vector<std::uint64_t>{100, 0, 2000});
  // Another weight, fewer matrices, and a count for all matrices.
  ImportanceSums more;
  more.weights["output.weight"] = {{1.0, 2.0}, {5}};
  more.weights["blk.0.ffn_up_exps.weight"] = {std::vector<double>(20, 1.0), {1, 2}};
  read.merge(more);
  CHECK(read.weights.size() == 3);
  CHECK(read.weights.at("blk.0.ffn_up_exps.weight").counts ==
        std::vector<std::uint64_t>{101, 2, 2000});
  CHECK(read.weights.at("blk.0.ffn_up_exps.weight").sums[10] == 1.0);
  ImportanceSums dense;
  dense.weights["blk.0.ffn_up_exps.weight"] = {std::vector<double>(30, 1.0), {7}};
  test::raises(errc::shape_mismatch, {"expected 30 sums and 1 counts, got 20 and 2"},
               [&] { dense.merge(more); });
  dense.merge(sums);
  CHECK(dense.weights.at("blk.0.ffn_up_exps.weight").counts ==
        std::vector<std::uint64_t>{107, 7, 2007});

  // The older form counts chunks.
  write_importance(dir / "i.dat", sums, ImportanceForm::dat);
  const ImportanceSums old = read_importance_sums(dir / "i.dat");
  CHECK(old.weights.at("blk.0.ffn_up.weight").counts == std::vector<std::uint64_t>{4 * 512});
  write_importance(dir / "again.gguf", old);
  CHECK(read_importance(dir / "again.gguf").weights == read_importance(dir / "i.dat").weights);

  ImportanceSums other;
  other.weights["output.weight"] = {{1.0, 2.0, 3.0}, {5}};
  const ImportanceSums before = read;
  test::raises(errc::shape_mismatch, {"\"output.weight\"", "expected 2 sums and 1 counts, got 3"},
               [&] { read.merge(other); });
  CHECK(read.weights == before.weights);
}

TEST_CASE("importance that no file can hold is refused, and nothing is written") {
  const TempDir dir;
  const auto refused = [&](errc code, const char* text, ImportanceSums::Weight weight,
                           const std::string& name = "w", std::uint32_t chunk = 512) {
    for (const ImportanceForm form : {ImportanceForm::gguf, ImportanceForm::dat}) {
      ImportanceSums sums;
      sums.weights[name] = weight;
      sums.chunk_size = chunk;
      if (form == ImportanceForm::dat && name.size() > 55) continue;
      test::raises(code, {text}, [&] { write_importance(dir / "i", sums, form); });
    }
  };
  refused(errc::no_data, "got no tokens", {{1.0}, {0}});
  refused(errc::bad_argument, "sums for each of 2 counts, got 3", {{1.0, 1.0, 1.0}, {1, 1}});
  refused(errc::bad_argument, "sums for each of 0 counts", {{1.0}, {}});
  refused(errc::out_of_range, "sums of squares in float32", {{0x1p128}, {1}});
  refused(errc::out_of_range, "got nan", {{std::numeric_limits<double>::quiet_NaN()}, {1}});
  refused(errc::bad_argument, "chunks of 1 token or more", {{1.0}, {1}}, "w", 0);
  refused(errc::bad_argument, "at most 63 bytes", {{1.0}, {1}}, std::string(56, 'w'));
  CHECK(dir.file_count() == 0);
  test::raises(errc::no_data, {"got no tokens"}, [&] { write_importance(dir / "i", {}); });
  // A weight without tokens has a mean of 1 in the GGUF form, and none in the older one.
  ImportanceSums sums;
  sums.weights["a"] = {{1.0}, {0}};
  sums.weights["b"] = {{6.0}, {2}};
  write_importance(dir / "i.gguf", sums);
  write_importance(dir / "i.dat", sums, ImportanceForm::dat);
  CHECK(read_importance(dir / "i.gguf").weights.at("a").front() == 1.0f);
  CHECK(read_importance(dir / "i.dat").weights.size() == 1);
}

TEST_CASE("importance files that contradict themselves are refused") {
  const TempDir dir;
  const auto refused = [&](const std::vector<float>& sums, const std::vector<float>& counts,
                           const char* text) {
    const std::vector<io::GgufTensorDecl> tensors{
        {"w.in_sum2", layouts::gguf::Type::f32, {1, sums.size()}},
        {"w.counts", layouts::gguf::Type::f32, {counts.size(), 1}}};
    io::GgufWriter writer(dir / "i.gguf", {}, tensors);
    writer.append("w.in_sum2", std::as_bytes(std::span(sums)));
    writer.append("w.counts", std::as_bytes(std::span(counts)));
    writer.finish();
    test::raises(errc::malformed, {"i.gguf", text},
                 [&] { static_cast<void>(read_importance(dir / "i.gguf")); });
  };
  const float infinity = std::numeric_limits<float>::infinity();
  refused({1, 2, 3}, {1, 1}, "expected sums for each of 2 counts, got 3");
  refused({1, -2}, {1}, "\"w\": expected finite numbers of at least 0, got -2");
  refused({1, infinity}, {1}, "finite numbers");
  refused({1, 2}, {-1}, "expected counts of 0 to 2^53, got -1");
  refused({1, 2}, {infinity}, "expected counts of 0 to 2^53");
  refused({1, 2}, {}, "expected sums for each of 0 counts");
  const std::vector<float> values{1, 2};
  for (const bool has_tensor : {true, false}) {
    const std::vector<io::GgufEntry> entries{{"general.architecture", std::string("llama")}};
    std::vector<io::GgufTensorDecl> tensors;
    if (has_tensor) tensors.push_back({"w", layouts::gguf::Type::f32, {2}});
    io::GgufWriter model(dir / "m.gguf", entries, tensors);
    if (has_tensor) model.append("w", std::as_bytes(std::span(values)));
    model.finish();
    test::raises(errc::malformed, {"m.gguf", "expected a file of `tq imatrix` or llama-imatrix"},
                 [&] { static_cast<void>(read_importance(dir / "m.gguf")); });
  }
}
