import { type Client, inside } from '../../support/client.ts'

export const aRole = (changes: object = {}) => ({
  role_type: 'jwt',
  user_claim: 'sub',
  bound_audiences: ['a'],
  ...changes,
})

let count = 0

/** Someone whose only policy is this one, of this namespace. */
export async function callerWith(
  root: Client,
  policy: string,
  { namespace = '', display = 'ada' }: { readonly namespace?: string; readonly display?: string } = {},
): Promise<Client> {
  const name = `caller-${++count}`
  const options = inside(namespace)
  const written = await root.write(`sys/policies/acl/${name}`, { policy }, options)
  const made = await root.write('auth/token/create', { policies: [name], display_name: display }, options)
  if (written.status > 299) throw new Error(written.text)
  return root.with(String(made.body.auth?.client_token))
}
