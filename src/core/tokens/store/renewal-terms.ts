/**
 * The auth method's answer to a renewal: the current terms of the role, or the reason for a refusal. `gone`: the
 * one who logged in exists no more; the token stays as it is, and the response is empty.
 */
export type RenewalTerms =
  | { readonly ok: true; readonly ttl: number; readonly maxTtl: number; readonly period: number }
  | { readonly ok: false; readonly reason: string }
  | 'gone'
