import { z } from 'zod'
import { chooseType, type SignInValues } from '../config/choose-credential.ts'
import {
  effectiveEnvironment,
  identityTokenUse,
  type OperatorSettings,
  signInValues,
} from '../config/effective-settings.ts'
import { shellQuoted, trustCommand, uploadCommand } from '../upstream/sign-in-refusals.ts'
import type { RoleWork } from '../upstream-work.ts'
import { tokenInFile } from './assertions.ts'
import { type AssertionClaims, claimsIn } from './explain.ts'

/** How a mount signs in, and what the cloud has to trust. docs/contract/cloud.md#identity */
export const rootIdentityAnswer = z.object({
  auth_type: z.string().describe('The effective one; empty if nothing is configured'),
  issuer: z.string(),
  subject: z.string(),
  role_subject: z.string().describe('Subject of the tokens of a role'),
  audience: z.string(),
  jwks_uri: z.string(),
  client_id: z.string(),
  /** What sets this way to sign in up. */
  commands: z.array(z.string()),
})

type RootIdentity = z.output<typeof rootIdentityAnswer>

const roleName = '<role>'

/** Also for a mount without a configuration. */
export async function rootIdentity({ mount, state, mountTokens }: RoleWork): Promise<RootIdentity> {
  const { operator, isHostOffered } = state
  const config = await state.findConfig()
  const values = signInValues(config, operator, isHostOffered)
  const { issuer, subject, jwksUri } = await mountTokens.identityOf({ mount })
  const { audience } = identityTokenUse(config, operator)
  const identity = {
    auth_type: chooseType(values) ?? '',
    issuer,
    subject,
    role_subject: (await mountTokens.identityOf({ mount, role: roleName })).subject,
    audience,
    jwks_uri: jwksUri,
    client_id: values.clientId,
  }
  const name = `gatehouse-${state.accessor}`
  const tenant = operator.tenantId ?? config?.tenant_id
  const own = { issuer, subject, audience }
  const { authorityHost } = effectiveEnvironment(config, operator)
  return { ...identity, commands: await commandsFor(values, { own, name, tenant, authorityHost, operator }) }
}

type Known = {
  readonly own: AssertionClaims
  readonly name: string
  readonly tenant: string | undefined
  /** Of the login service. */
  readonly authorityHost: string
  readonly operator: OperatorSettings
}

async function commandsFor(
  values: SignInValues,
  { own, name, tenant = '<tenant_id>', authorityHost, operator }: Known,
): Promise<string[]> {
  const clientId = values.clientId || '<client_id>'
  const trust = (claims: AssertionClaims) => trustCommand({ ...claims, clientId, name })
  switch (chooseType(values)) {
    case 'root_creds':
      return [
        `az ad app credential reset --id ${shellQuoted(clientId)} --append --query password --output tsv`,
      ]
    case 'certificate':
      return [uploadCommand(clientId)]
    case 'aks_wif': {
      // what the file says of the host is for those who may use it
      const claims = values.isHostOffered ? await claimsInFile(operator.federatedTokenFile) : undefined
      const unknown = {
        issuer: '<issuer of the cluster>',
        subject: 'system:serviceaccount:<namespace>:<service account>',
      }
      return [
        'az aks show --resource-group <group> --name <cluster> --query oidcIssuerProfile.issuerUrl --output tsv',
        trust(claims ?? { ...unknown, audience: own.audience }),
      ]
    }
    case 'msi':
      return [
        'az vm identity assign --resource-group <group> --name <machine> --query systemAssignedIdentity --output tsv',
        'az role assignment create --assignee-object-id <principal id> --assignee-principal-type ServicePrincipal --role "User Access Administrator" --scope <scope of the roles>',
      ]
    case 'msi_wif': {
      const identity = values.managedIdentityClientId || '<managed_identity_client_id>'
      const issuer = `${authorityHost}/${tenant}/v2.0`
      return [
        `az ad sp show --id ${shellQuoted(identity)} --query id --output tsv`,
        trust({ issuer, subject: '<the id that the first command prints>', audience: own.audience }),
      ]
    }
    default:
      return [trust(own)]
  }
}

async function claimsInFile(path: string | undefined): Promise<AssertionClaims | undefined> {
  if (path === undefined) return undefined
  const token = await tokenInFile(path).catch(() => undefined)
  return token === undefined ? undefined : claimsIn(token)
}
