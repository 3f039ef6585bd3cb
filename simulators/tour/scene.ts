import type { Narration, Sender } from '../narration.ts'

/** The input of each chapter of the demo: the narration, the operator, and a sender without a token. */
export type Scene = Narration & { readonly root: Sender; readonly stranger: Sender }

/** The role that deployments log in with. */
export const deployments = {
  role_type: 'jwt',
  user_claim: 'sub',
  bound_audiences: ['gatehouse'],
  bound_claims: { repository: 'acme/shop', ref: 'refs/heads/main' },
  token_policies: ['deploy'],
  token_ttl: '15m',
}
