/*
 * Vitest turns on source maps. Node then looks for one in each function that is compiled at run time, which is a
 * tenth of a server's start: routers compile functions. There are none to be found: Node blanks out types, so
 * that lines and columns stay as they are.
 */
process.setSourceMapsEnabled(false)
