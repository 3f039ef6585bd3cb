import { z } from 'zod'
import type { ServiceError } from '../../errors.ts'
import type { Call } from '../exchange/call.ts'
import type { Answer } from '../exchange/envelope.ts'
import type { DocumentedPlace } from './openapi.ts'
import { withDefault } from './openapi-template.ts'

/** One verb of a path. */
export type HelpVerb = {
  readonly verb: VerbWord
  readonly summary: string
  readonly input: z.ZodObject
  readonly anyFields: boolean
}

type VerbWord = 'read' | 'write' | 'list' | 'scan' | 'patch' | 'delete'

/** What the help says about a path, derived from its declaration. */
export type HelpPage = {
  /** Template below the mount: `/role/:name`; for a node-level path, the whole path. */
  readonly path: string
  readonly isOfNode: boolean
  readonly about: string
  /** Made when somebody asks for help: schemas take time and memory. */
  verbs(): readonly HelpVerb[]
  readonly needs: 'token' | 'sudo' | 'nothing'
}

/** Describes one path in OpenAPI; null if the document does not know it. */
export type DescribePath = (place: DocumentedPlace, path: string) => Promise<object | null>

/** A path that may have help. */
export type Helped = {
  readonly path: string
  /** Undefined if nothing is served there. */
  readonly page: HelpPage | undefined
  /** The refusal of verbs that it does not serve. */
  refusal(): ServiceError
}

/** What the help says about the mounts of a plugin. */
export type MountHelp = { readonly about: string; readonly pages: readonly HelpPage[] }

/** The help of all paths. docs/contract/http.md#help-counters-tools */
export class HelpPages {
  readonly #byPlugin: ReadonlyMap<string, MountHelp>
  readonly #describe: DescribePath

  constructor(byPlugin: ReadonlyMap<string, MountHelp>, describe: DescribePath) {
    this.#byPlugin = byPlugin
    this.#describe = describe
  }

  /** The help of a resource, or of the whole mount at its top. */
  async answer({ path, page, refusal }: Helped, { mount, below }: Call): Promise<Answer> {
    const { plugin = '', path: mountPath = '' } = mount ?? {}
    if (path === '/*' && below === '')
      return helpAnswer(mountText(this.#byPlugin.get(plugin) ?? noHelp, mountPath), null)
    if (page === undefined) throw refusal()
    const place = page.isOfNode ? { group: 'node', path: '' } : { group: plugin, path: mountPath }
    return helpAnswer(pageText(page, mountPath), await this.#describe(place, page.path))
  }
}

const noHelp: MountHelp = { about: '', pages: [] }

const helpAnswer = (help: string, openapi: object | null): Answer => ({
  status: 200,
  contentType: 'application/json',
  body: `${JSON.stringify({ help, see_also: null, openapi })}\n`,
})

const words: Record<VerbWord, string> = {
  read: 'GET',
  write: 'POST or PUT',
  list: 'LIST, or GET with list=true',
  scan: 'SCAN, or GET with scan=true',
  patch: 'PATCH',
  delete: 'DELETE',
}

const needs: Record<HelpPage['needs'], string> = {
  token: 'Needs a token whose policies allow it.',
  sudo: 'Needs a token whose policies allow it, with the capability sudo.',
  nothing: 'Needs no token.',
}

/**
 * The purpose of a path, its verbs and their fields, in plain text. docs/contract/http.md#help-counters-tools
 */
function pageText(page: HelpPage, mountPath: string): string {
  const verbs = page.verbs().map(({ verb, summary, input, anyFields }) => {
    const fields = fieldLines(input)
    const rest = anyFields && verb === 'write' ? ['    and any other field'] : []
    return [`${words[verb]}: ${summary}`, ...fields, ...rest].join('\n')
  })
  return [shownPath(page, mountPath), page.about, ...verbs, needs[page.needs]].join('\n\n') + '\n'
}

/** The purpose of a mount, and its paths, each with its purpose. */
function mountText({ about, pages }: MountHelp, mountPath: string): string {
  const lines = pages.map((page) => `${shownPath(page, mountPath)}\n    ${page.about}`).toSorted()
  const head =
    lines.length === 0
      ? `${mountPath} has no paths yet.`
      : `The paths of ${mountPath}; each tells more with ?help=1.`
  const description = about === '' ? [] : ['## DESCRIPTION', about, '## PATHS']
  return [...description, head, ...lines].join('\n\n') + '\n'
}

const shownPath = ({ path, isOfNode }: HelpPage, mountPath: string): string =>
  isOfNode ? path.slice(1) : mountPath + path.slice(1).replace('*', ':path')

type FieldSchema = { type?: unknown; anyOf?: unknown; default?: unknown; description?: unknown }

function fieldLines(input: z.ZodObject): string[] {
  // in JSON Schema, an object has its members' schemas here
  const { properties = {} } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
    override: withDefault,
  })
  return Object.entries(properties as Record<string, FieldSchema>).map(([name, field]) => {
    const known = [typeText(field), defaultText(field.default)].filter((text) => text !== '')
    const description = typeof field.description === 'string' ? `: ${field.description}` : ''
    return `    ${name}${known.length === 0 ? '' : ` (${known.join(', ')})`}${description}`
  })
}

function typeText({ type, anyOf }: FieldSchema): string {
  const types = Array.isArray(anyOf)
    ? anyOf.map((one: FieldSchema) => typeText(one))
    : Array.isArray(type)
      ? type
      : [type]
  const shown = types
    .filter((one) => typeof one === 'string' && one !== '' && one !== 'null')
    .map((one) => (one === 'array' ? 'list' : one))
  return [...new Set(shown)].join(' or ')
}

/** Omits empty defaults. */
function defaultText(value: unknown): string {
  const isEmpty =
    value === undefined ||
    value === null ||
    value === '' ||
    value === false ||
    value === 0 ||
    (Array.isArray(value) && value.length === 0)
  return isEmpty ? '' : `default ${JSON.stringify(value)}`
}
