import { parsedJson } from '../../lib/text/json.ts'
import { comparing, discreetRefusal, type Refusal, refusal } from '../../logins/refusals/refusal.ts'
import { isPlainObject, type StrictObject } from './strict-json.ts'

/** What a text that is not a JWT looks like. `words` end an error text and repeat none of the text. */
export type TokenShape = {
  readonly words: string
  /** The guess is nearly certain. */
  readonly isCertain: boolean
}

/** Undefined if there is nothing to say. */
export function shapeOf(text: string): TokenShape | undefined {
  // the beginning or the number of parts reveals the shape
  const start = text.slice(0, maxLooked).trim()
  const isLike = ([looksLike]: Shape) => looksLike(start, text)
  const certain = certainShapes.find(isLike)
  if (certain !== undefined) return { words: certain[1], isCertain: true }
  const likely = likelyShapes.find(isLike)
  return likely === undefined ? undefined : { words: likely[1], isCertain: false }
}

/**
 * The refusal of a text that is not a JWT: the caller is told what it certainly is, the operator also what it
 * may be.
 */
export function malformedToken(problem: string, token: string): Refusal {
  const shape = shapeOf(token)
  if (shape === undefined) return refusal('token_malformed', problem)
  const cause = `${problem}: ${shape.words}`
  const refused = discreetRefusal('token_malformed', { text: shape.isCertain ? cause : problem, cause })
  return comparing(refused, {
    expected: ['a JWT of three parts'],
    seen: shape.words,
    detail: 'jwt',
    hint: '',
  })
}

const maxLooked = 4096
const byteOrderMark = Buffer.from('\uFEFF').toString('base64url')

type Shape = readonly [looksLike: (start: string, text: string) => boolean, words: string]

/** The first one that fits is used. */
const certainShapes: readonly Shape[] = [
  [(start) => /^["'`]/.test(start), 'it stands in quotes'],
  [(start) => /^(?:authorization\s*:\s*)?bearer(?:\s|%20|:)/i.test(start), 'it has "Bearer " in front'],
  [isVariable, 'it is a variable that was not expanded'],
  [(start) => /^@\S+$/.test(start), 'it is the name of a file, not what is in it'],
  [(start) => /^[[{]/.test(start), 'it is a JSON document, not the token in it'],
  [(start) => start.startsWith('<'), 'it is a page, not a token'],
  [(start) => start.startsWith('-----BEGIN'), 'it is a PEM block, not a token'],
  [
    (start, text) => partsOf(text) === 5 && headerOf(start)?.['enc'] !== undefined,
    'it is an encrypted token (JWE), which only its recipient can read',
  ],
]

/** The first one that fits is used. */
const likelyShapes: readonly Shape[] = [
  [(start) => start === '', 'it is blank'],
  [
    (start) => /^(?:null|undefined|none|nil|false)$/i.test(start),
    'it is the word for a value that is not there',
  ],
  [
    (start) => /^hv[sbr]\.|^[sbr]\.[A-Za-z0-9]{24}$/.test(start),
    'it looks like a token of a secrets server, not like a JWT',
  ],
  [
    (start, text) => partsOf(text) === 3 && start.startsWith(byteOrderMark),
    'its header begins with a byte order mark',
  ],
  [
    (start, text) => partsOf(text) === 3 && headerOf(start) === undefined,
    'it has three parts that are not the JSON of a JWT',
  ],
  [
    (_start, text) => partsOf(text) === 3 && /[+/=]/.test(text),
    'it is encoded with +, / or =, where a JWT has the alphabet of base64url and no =',
  ],
  [(_start, text) => partsOf(text) === 3 && !/^[\w.\s-]*$/.test(text), 'it has a character that no JWT has'],
  [
    (start, text) => partsOf(text) < 3 && headerOf(start) !== undefined,
    'it looks like a JWT that was cut off',
  ],
  [(_start, text) => partsOf(text) !== 3, 'it looks opaque, like an access token that is no JWT'],
]

/** `$NAME`, `$env:NAME`, `${NAME}`, `${{ name }}`, `$(command)`, `%NAME%`, `{{ name }}`, `<name>`. */
function isVariable(start: string): boolean {
  return /^(?:\$(?:env:)?[A-Za-z_]\w*|\$\{[\s\S]*\}|\$\([\s\S]*\)|%[A-Za-z_]\w*%|\{\{[\s\S]*\}\}|<[\w .-]+>)$/.test(
    start,
  )
}

const partsOf = (text: string): number => text.split('.', 7).length

function headerOf(start: string): StrictObject | undefined {
  const header = parsedJson(Buffer.from(start.split('.', 1)[0] ?? '', 'base64url').toString('utf8'))
  return isPlainObject(header) ? header : undefined
}
