import { isPlainObject, ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'

/** The name of a policy with claims in it: literal pieces, and the names on the way to the claims between them. */
export type PolicyTemplate = {
  readonly literals: readonly string[]
  readonly claims: readonly (readonly string[])[]
}

/** `{{ .a.b }}` or `{{ index . "a-b" "c" }}`, as in Go's templates. */
const action = /\{\{\s*(?:((?:\.[\p{L}_][\p{L}\p{Nd}_]*)+)|index\s+\.((?:\s+"(?:[^"\\\n]|\\.)*")+))\s*\}\}/uy
const quotedStep = /"(?:[^"\\\n]|\\.)*"/gu

/** Parses one element of `token_policies`. docs/contract/jwt.md#policies-named-by-claims */
export function parsePolicyTemplate(text: string): PolicyTemplate | { readonly problem: string } {
  const literals: string[] = []
  const claims: string[][] = []
  let at = 0
  for (let open = text.indexOf('{{'); open >= 0; open = text.indexOf('{{', at)) {
    action.lastIndex = open
    const found = action.exec(text)
    const steps = found === null ? undefined : stepsOf(found)
    if (steps === undefined)
      return {
        problem: `${excerpt(text.slice(open))}: only {{ .claim.member }} and {{ index . "claim" "member" }} are supported`,
      }
    literals.push(text.slice(at, open))
    claims.push(steps)
    at = action.lastIndex
  }
  return { literals: [...literals, text.slice(at)], claims }
}

function stepsOf([, fields, quoted = '']: RegExpExecArray): string[] | undefined {
  if (fields !== undefined) return fields.slice(1).split('.')
  try {
    return (quoted.match(quotedStep) ?? []).map((step) => String(JSON.parse(step)))
  } catch {
    return undefined
  }
}

/** The policies that the claims name; the core puts them in their usual form. docs/contract/jwt.md#policies-named-by-claims */
export function filledPolicies(
  templates: readonly PolicyTemplate[],
  claims: StrictObject,
): string[] | Refusal {
  const policies: string[] = []
  for (const [index, { literals, claims: named }] of templates.entries()) {
    let name = literals[0] ?? ''
    for (const [place, steps] of named.entries()) {
      const value = textOf(steps.reduce(memberOf, claims))
      if (value === undefined) {
        const claim = excerpt(steps.join('.'))
        const cause = `claim "${claim}" is missing, or neither a text nor a whole number nor a bool`
        return refusal('policy_template_failed', `failed to template policy [${index}]: ${cause}`)
      }
      name += value + (literals[place + 1] ?? '')
    }
    policies.push(name)
  }
  return policies
}

const memberOf = (value: unknown, step: string): unknown =>
  isPlainObject(value) ? ownMember(value, step) : undefined

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? String(value) : undefined
  return typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean'
    ? String(value)
    : undefined
}
