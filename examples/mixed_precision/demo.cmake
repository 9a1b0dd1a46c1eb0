tq_add_demo(mixed_precision COMMAND mixed_precision --quick
  TITLE "One scheme for all matrices, or one for each within the same bytes (examples/mixed_precision):"
  SHOW "^[|] (model|digits CNN .*int[34]_|ad01 .*int[34]_)")
