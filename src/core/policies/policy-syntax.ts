import { refuse, type ServiceError } from '../../errors.ts'

/** A position in a policy text; both numbers start at 1. */
export type Position = { readonly line: number; readonly column: number }

/** The syntax tree of a policy text. */
export type SyntaxNode = Position &
  (
    | { readonly kind: 'text'; readonly value: string }
    | { readonly kind: 'number'; readonly value: string }
    | { readonly kind: 'bool'; readonly value: boolean }
    | { readonly kind: 'null' }
    | { readonly kind: 'list'; readonly items: readonly SyntaxNode[] }
    | ObjectNode
  )

/** Entries in source order; keys may repeat. */
export type ObjectNode = Position & { readonly kind: 'object'; readonly entries: readonly SyntaxEntry[] }

export type SyntaxKey = Position & { readonly text: string }

/** `path "a" { … }` has the keys `path` and `a`. */
export type SyntaxEntry = { readonly keys: readonly [SyntaxKey, ...SyntaxKey[]]; readonly value: SyntaxNode }

/** The greatest depth of nested lists and objects. */
export const maxNesting = 64

/** The error for an invalid policy text. docs/contract/tokens-and-policies.md#policies */
export const policyFault = (detail: string): ServiceError =>
  refuse('invalid', `failed to parse policy: ${detail}`)

/** The error for a policy text that is invalid at a position; `where` names the construct, if known. */
export const syntaxFault = ({ line, column }: Position, detail: string, where = ''): ServiceError =>
  policyFault(`${where}At ${line}:${column}: ${detail}`)
