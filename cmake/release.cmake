# PENSTOCK_RELEASED: the day on which this version was released, as a heading of CHANGELOG.md says: ## [0.3.0] - 2026-11-30.
# It is empty for a version without such a heading. Manual pages and Debian's package state it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
block(PROPAGATE PENSTOCK_RELEASED)
  string(REPLACE . "\\." version ${PROJECT_VERSION})
  file(STRINGS ${CMAKE_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## \\[${version}\\] - [0-9]+-[0-9]+-[0-9]+$")
  string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+$" PENSTOCK_RELEASED "${heading}")
endblock()
