// SPDX-License-Identifier: MIT
// tq dequantize: writes a quantized model back in the types it had.

#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/io/npy.hpp>
#include <tq/io/safetensors_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

namespace tool {

void dequantize(const DequantizeOptions& options) {
  require_extension("OUT", options.out, {".safetensors", ".npy"});
  StoredModel model(options.in);
  require_other_file("OUT", options.out, model.files(), "IN");
  remove_leftovers(options.out);
  if (!model.unreadable().empty() && !options.skip_unreadable)
    throw tq::error(tq::errc::unsupported, options.in + ": " + model.unreadable() +
                                               "; --skip-unreadable copies its parts as they are");
  if (!model.has_description() &&
      std::none_of(model.tensors().begin(), model.tensors().end(),
                   [](const StoredTensor& t) { return t.foreign != nullptr; }))
    throw tq::error(tq::errc::bad_argument,
                    options.in +
                        ": expected a model quantized by tq, or weights as other programs "
                        "quantize them, got neither \"tq\" metadata nor such weights");
  std::uint64_t before = 0, after = 0;
  std::size_t quantized = 0;
  tq::io::Json list = tq::io::Json::array();
  std::vector<tq::io::TensorDecl> declarations;
  std::vector<std::string> skipped;
  for (const StoredTensor& t : model.tensors()) {
    declarations.push_back({t.name, t.dtype, t.shape});
    before += t.bytes;
    after += t.plain_bytes();
    const bool is_quantized = t.encoding || t.foreign;
    quantized += is_quantized ? 1 : 0;
    if (options.json)
      list.push_back({{"name", t.name},
                      {"dtype", std::string(to_string(t.dtype))},
                      {"shape", t.shape},
                      {"dequantized", is_quantized}});
    if (!t.is_unreadable) continue;
    skipped.push_back(t.name);
    if (options.json) list.back()["reason"] = t.left_alone;
  }
  Progress progress("dequantize", after);
  if (options.out.ends_with(".npy")) {
    if (model.tensors().size() != 1)
      throw tq::error(tq::errc::bad_argument, options.out +
                                                  ": expected one tensor for a .npy file, got " +
                                                  std::to_string(model.tensors().size()));
    const StoredTensor& tensor = model.tensors().front();
    in_memory(tensor, [&] { tq::io::write_npy(options.out, model.read(tensor)); });
  } else {
    tq::io::SafetensorsWriter writer(options.out, declarations, model.other_metadata());
    for (const StoredTensor& tensor : model.tensors()) {
      in_memory(tensor, [&] {
        for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
          writer.append(tensor.name, model.piece(tensor, first, count));
        });
      });
      progress.advance(tensor.plain_bytes());
    }
    writer.finish();
  }
  if (options.json) {
    print_json({{"input", options.in},
                {"output", options.out},
                {"tensors", std::move(list)},
                {"left_out", names_of(model.others())},
                {"total",
                 {{"tensors", model.tensors().size()},
                  {"dequantized", quantized},
                  {"bytes_before", before},
                  {"bytes_after", after}}}});
    return;
  }
  std::cout << quantized << " of " << model.tensors().size() << " tensors dequantized; "
            << grouped(before) << " bytes before, " << grouped(after) << " after\n";
  for (const std::string& name : skipped)
    std::cout << "copied, as the weight it is part of cannot be read: " << printable(name) << '\n';
  print_others(model.others());
}

}  // namespace tool
