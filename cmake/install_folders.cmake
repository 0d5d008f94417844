# Folders of an installation, below its prefix. What penstock ships lies below one folder for each version:
#
#   bin/penstock
#   share/penstock/VERSION/configs/    models, recipes, clusters and devices
#   share/penstock/VERSION/tools/      scripts that make manifests
#   share/doc/penstock/                licences, changelog and pages
#
# The program finds configs/ from its own folder (configs/config_folder.h), so a prefix may be moved.
include(GNUInstallDirs)
# Nobody but their owner writes to the folders that an installation makes. Its umask may restrict them further.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(PENSTOCK_SHARE ${CMAKE_INSTALL_DATADIR}/penstock/${PROJECT_VERSION})
# A program in a folder of this name is an installed one.
get_filename_component(PENSTOCK_PROGRAM_FOLDER "${CMAKE_INSTALL_FULL_BINDIR}" ABSOLUTE)
get_filename_component(PENSTOCK_PROGRAM_FOLDER "${PENSTOCK_PROGRAM_FOLDER}" NAME)
file(RELATIVE_PATH PENSTOCK_SHIPPED_CONFIGS
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX}/${PENSTOCK_SHARE}/configs)
