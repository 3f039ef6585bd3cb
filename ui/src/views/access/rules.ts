import { reachesBelow } from '../../shell/grants.ts'
import { strings } from '../../strings.ts'

const text = strings.access.rules

/** A rule as it is typed. The server parses policies; this reads enough for hints while somebody types. */
type TypedRule = { readonly path: string; readonly line: number; readonly capabilities: readonly string[] }

const quotedOrComment = /"(?:[^"\\\n]|\\.)*"|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\//g
const opening = /\bpath\s+"((?:[^"\\\n]|\\.)*)"\s*\{/g
const listed = /\bcapabilities\s*=\s*\[([^\]]*)\]/

function rulesIn(policy: string): readonly TypedRule[] {
  const plain = policy.replaceAll(quotedOrComment, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' '),
  )
  const starts = [...plain.matchAll(opening)]
  return starts.map((start, at) => {
    const body = plain.slice(start.index, starts[at + 1]?.index)
    const capabilities = [...(listed.exec(body)?.[1] ?? '').matchAll(/"([^"]*)"/g)]
    return {
      path: (start[1] ?? '').replace(/^\//, ''),
      line: plain.slice(0, start.index).split('\n').length,
      capabilities: capabilities.flatMap(([, name]) => name ?? []),
    }
  })
}

/** Finds mistakes in rules that the server accepts. `places`: where something can be, undefined if that is unknown. */
export const warningsOf = (policy: string, places: readonly string[] | undefined): readonly string[] => {
  const rules = rulesIn(policy)
  return rules.flatMap((rule) => {
    // a template is filled for each caller
    if (rule.path.includes('{{')) return []
    const said = warningOf(rule, rules, places)
    return said === undefined ? [] : [text.atLine(rule.line, rule.path, said)]
  })
}

function warningOf(
  { path, line, capabilities }: TypedRule,
  rules: readonly TypedRule[],
  places: readonly string[] | undefined,
): string | undefined {
  const isPrefix = path.endsWith('*')
  const fixed = isPrefix ? path.slice(0, -1) : path
  if (fixed.includes('*')) return text.starInside
  if (fixed.split('/').some((segment) => segment.includes('+') && segment !== '+')) return text.plusInside
  const denial = rules.find((other) => other.path === path && other.capabilities.includes('deny'))
  if (denial !== undefined && capabilities.some((name) => name !== 'deny'))
    return denial.line === line ? text.deniesItself : text.denied(denial.line)
  const grant = { id: path, path: fixed, isPrefix, capabilities: ['read'] }
  if (places?.every((place) => !reachesBelow([grant], place)) === true) return text.noMount
  return undefined
}
