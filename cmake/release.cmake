# PENSTOCK_RELEASED: the day on which this version was released, as CHANGELOG.md says; empty for a version that it does
# not name. Manual pages and Debian's package state it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
file(STRINGS ${CMAKE_SOURCE_DIR}/CHANGELOG.md heading REGEX "^## \\[${PROJECT_VERSION}\\] - ")
string(REGEX MATCH "[0-9-]+$" PENSTOCK_RELEASED "${heading}")
