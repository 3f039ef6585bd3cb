import type { RekeyResult } from '../../../core/seal/rekey-answers.ts'
import type { NodeExchange } from '../../../http/resource/node-resource.ts'

/**
 * The result of a rekey, for the response to this call. Once the key was replaced, nobody has a copy of its
 * shares but the client that gets this response.
 */
export function told(
  { trail }: Pick<NodeExchange['call'], 'trail'>,
  result: RekeyResult | undefined,
): RekeyResult | undefined {
  if (result?.verification_required === false && trail !== undefined) trail.mustArrive = true
  return result
}
