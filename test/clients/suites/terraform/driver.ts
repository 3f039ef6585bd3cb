import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { given, operation } from '../node/operations.ts'

/**
 * Runs Terraform with its Vault provider, and prints a line of JSON for each configuration. usage: driver.ts FOLDER,
 * which has the provider. The environment is that of ../hvac/driver.py.
 */
const [folder = ''] = process.argv.slice(2)
const settings = join(folder, 'settings.tfrc')
await writeFile(
  settings,
  `provider_installation {\n  dev_overrides { "hashicorp/vault" = ${JSON.stringify(folder)} }\n}\n`,
)

const { id, keyId, secretText } = JSON.parse(given('APPLICATION'))
const variables = {
  jwt_key: given('JWT_KEY'),
  audit_file: given('AUDIT_FILE'),
  azure: given('AZURE'),
  cluster: given('CLUSTER'),
  application: id,
  secret_id: keyId,
  client_secret: secretText,
}

async function terraform(
  at: string,
  settingsOfRun: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<{ code: number; printed: string }> {
  const environment = Object.entries(variables).map(([name, value]) => [`TF_VAR_${name}`, value])
  const child = spawn('terraform', [`-chdir=${at}`, ...withoutColours(args)], {
    env: {
      ...process.env,
      ...Object.fromEntries(environment),
      TF_CLI_CONFIG_FILE: settings,
      CHECKPOINT_DISABLE: '1',
      ...settingsOfRun,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [printed, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, printed: printed + errors }
}

const withoutColours = ([command = '', ...args]: readonly string[]) =>
  command === 'state' ? [command, ...args] : [command, '-no-color', ...args]

/** Terraform's own errors, without the frame and the warning about the provider that was built here. */
const errorIn = (printed: string) =>
  printed
    .slice(Math.max(0, printed.indexOf('Error: ')))
    .replaceAll(/[╷│╵]/g, '')
    .trim()

/** A configuration is applied, applied again with changes, imported, and destroyed; each plan after that is empty. */
function configuration(
  name: string,
  file: string,
  imports: Readonly<Record<string, string>> = {},
): Promise<void> {
  return operation(name, async () => {
    const at = join(folder, file)
    await rm(at, { recursive: true, force: true })
    await mkdir(at)
    await copyFile('variables.tf', join(at, 'variables.tf'))
    await copyFile(`configurations/${file}.tf`, join(at, 'main.tf'))
    const succeed = async (command: string, ...args: string[]) => {
      const { code, printed } = await terraform(at, {}, command, ...args)
      if (code !== 0) throw new Error(`terraform ${command}: ${errorIn(printed)}`)
    }
    const expectNoChange = async (round: string) => {
      const { code, printed } = await terraform(
        at,
        {},
        'plan',
        '-input=false',
        '-detailed-exitcode',
        `-var=${round}`,
      )
      if (code === 2) throw new Error(`a second plan has changes: ${printed.slice(printed.indexOf('  #'))}`)
      if (code !== 0) throw new Error(`terraform plan: ${errorIn(printed)}`)
    }
    for (const round of ['round=1', 'round=2']) {
      await succeed('apply', '-input=false', '-auto-approve', `-var=${round}`)
      await expectNoChange(round)
    }
    for (const [address, path] of Object.entries(imports)) {
      await succeed('state', 'rm', address)
      await succeed('import', '-input=false', '-var=round=2', address, path)
    }
    if (Object.keys(imports).length > 0) await expectNoChange('round=2')
    await succeed('destroy', '-input=false', '-auto-approve', '-var=round=2')
  })
}

await configuration('write, change, import and delete a policy (vault_policy)', 'policy', {
  'vault_policy.job': 'terraform-job',
})

await configuration(
  'configure the jwt method and a role (vault_jwt_auth_backend, vault_generic_endpoint)',
  'jwt',
)

await configuration(
  'write an AppRole, generate a secret id and log in (vault_approle_auth_backend_role_secret_id, …_login)',
  'approle',
)

await configuration(
  'configure the kubernetes method and a role (vault_kubernetes_auth_backend_config, …_role)',
  'kubernetes',
  { 'vault_kubernetes_auth_backend_role.web': 'auth/terraform-pods/role/web' },
)

await configuration('write a user of userpass (vault_auth_backend, vault_generic_endpoint)', 'userpass', {
  'vault_auth_backend.userpass': 'terraform-userpass',
})

await configuration(
  'write and read secrets (vault_mount, vault_generic_secret; kv, versions 1 and 2)',
  'kv',
  {
    'vault_mount.kv2': 'terraform/kv2',
    'vault_generic_secret.one': 'terraform/kv1/shop/db',
    'vault_generic_secret.two': 'terraform/kv2/shop/db',
  },
)

await configuration(
  'write entities, groups and their aliases (vault_identity_entity, vault_identity_group)',
  'identity',
)

await configuration('create and delete a namespace (vault_namespace)', 'namespace')

await configuration('enable, import and disable an audit device (vault_audit)', 'audit', {
  'vault_audit.file': 'terraform',
})

await configuration('create tokens and a token role (vault_token, vault_token_auth_backend_role)', 'token', {
  'vault_token_auth_backend_role.deploy': 'auth/token/roles/terraform-deploy',
})

await configuration('write a rate limit (vault_generic_endpoint)', 'quota')

await configuration(
  'enable, tune, move and import the cloud engine, with the key of its identity tokens (vault_mount)',
  'mount',
  { 'vault_mount.azure': 'terraform/azure-2' },
)

await configuration(
  'configure the cloud engine, write roles and read credentials (vault_generic_endpoint)',
  'cloud',
)

await configuration(
  'write, import and read static roles of the cloud engine (vault_generic_endpoint)',
  'static-role',
)

await configuration('encrypt with the transit engine (vault_mount)', 'transit')

/** Before it reads anything, this version of the provider asks for a child token, and cannot be told not to. */
await operation('a JWT as the token of the provider: it is told to set skip_child_token', async () => {
  const write = async (path: string, body: object) => {
    const { ok, status } = await fetch(`${given('VAULT_ADDR')}/v1/${path}`, {
      method: 'POST',
      headers: { 'X-Vault-Token': given('VAULT_TOKEN') },
      body: JSON.stringify(body),
    })
    if (!ok) throw new Error(`${path}: ${status}`)
  }
  await write('sys/auth/direct', { type: 'jwt' })
  await write('auth/direct/config', {
    jwt_validation_pubkeys: [given('JWT_KEY')],
    bound_issuer: 'https://ci.example.com',
    accept_as_token: true,
    default_role: 'build',
  })
  await write('auth/direct/role/build', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: ['ci'],
    token_policies: ['parents'],
  })
  await write('sys/policies/acl/parents', {
    policy: 'path "auth/token/create" { capabilities = ["update"] }',
  })
  const at = join(folder, 'direct')
  await rm(at, { recursive: true, force: true })
  await mkdir(at)
  await copyFile('variables.tf', join(at, 'variables.tf'))
  await copyFile('configurations/policy.tf', join(at, 'main.tf'))
  const { code, printed } = await terraform(
    at,
    { VAULT_TOKEN: given('JWT') },
    'plan',
    '-input=false',
    '-var=round=1',
  )
  if (code !== 1 || !printed.includes('set skip_child_token = true in the Terraform provider'))
    throw new Error(`terraform plan: ${code} ${errorIn(printed)}`)
})
