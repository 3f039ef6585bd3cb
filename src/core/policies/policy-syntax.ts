import { refuse, type ServiceError } from '../../errors.ts'

/** Where something stands in a policy text; both count from 1. */
export type Position = { readonly line: number; readonly column: number }

/** A policy text as it was written, before anything is known of policies. */
export type SyntaxNode = Position &
  (
    | { readonly kind: 'text'; readonly value: string }
    | { readonly kind: 'number'; readonly value: string }
    | { readonly kind: 'bool'; readonly value: boolean }
    | { readonly kind: 'null' }
    | { readonly kind: 'list'; readonly items: readonly SyntaxNode[] }
    | ObjectNode
  )

/** Entries in the order written; a key may be there several times. */
export type ObjectNode = Position & { readonly kind: 'object'; readonly entries: readonly SyntaxEntry[] }

export type SyntaxKey = Position & { readonly text: string }

/** `path "a" { … }` has the keys `path` and `a`. There is at least one. */
export type SyntaxEntry = { readonly keys: readonly [SyntaxKey, ...SyntaxKey[]]; readonly value: SyntaxNode }

/** Lists and objects inside each other. */
export const maxNesting = 64

/** What every refusal of a policy text begins with. docs/contract/tokens-and-policies.md#policies */
export const policyFault = (detail: string): ServiceError =>
  refuse('invalid', `failed to parse policy: ${detail}`)

/** A refusal that names a place in the text, after what stands there when it is known. */
export const syntaxFault = ({ line, column }: Position, detail: string, where = ''): ServiceError =>
  policyFault(`${where}At ${line}:${column}: ${detail}`)
