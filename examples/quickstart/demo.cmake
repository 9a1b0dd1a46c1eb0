tq_add_demo(quickstart FIRST COMMAND quickstart
  TITLE "The shortest program (examples/quickstart):" SHOW ".")
