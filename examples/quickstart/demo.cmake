tq_add_demo(quickstart PART first COMMAND quickstart
  TITLE "The shortest program (examples/quickstart):" SHOW ".")
