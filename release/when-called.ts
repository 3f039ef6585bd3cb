import type { Plugin } from 'rolldown'

/** A package that is one function, which is seldom called, and that needs much memory: 2,500 media types. */
const seldom = 'type-is'
const prefix = '\0when-called:'

/** Loads the package at the first call. A start takes 1 MB less. */
export const whenCalled: Plugin = {
  name: 'when-called',
  resolveId: (source, importer) =>
    source === seldom && importer?.startsWith(prefix) === false ? `${prefix}${seldom}` : null,
  load: (id) =>
    id === `${prefix}${seldom}` ? `module.exports = (...input) => require('${seldom}')(...input)` : null,
}
