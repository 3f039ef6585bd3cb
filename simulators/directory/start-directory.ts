import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeTemporaryFolder } from '../exit.ts'
import { adminControlsOf } from './admin-controls.ts'
import { addResources, assignedRoles, directoryAppId } from './app-roles.ts'
import type { Call } from './call.ts'
import { certificatesOfProcess } from './certificates.ts'
import { makeConcurrencyGuard } from './concurrency.ts'
import type { View } from './consistency.ts'
import { type Controls, startControls } from './controls.ts'
import type { Directory, DirectoryOptions, HostIdentity } from './directory.ts'
import { grantRoot } from './directory-permissions.ts'
import { makeFaultBox } from './faults.ts'
import { addFixtures, addGroup, addHostIdentities, addRoleDefinition, assignRootRoles } from './fixtures.ts'
import { graphService } from './graph.ts'
import { debrisOf, inventoryOf } from './inventory.ts'
import { makeIssuerKeys } from './issuer-keys.ts'
import { makeJournal } from './journal.ts'
import { loginService } from './login.ts'
import { metadataService } from './metadata.ts'
import type { ServiceName } from './operations.ts'
import { makeRateMeter } from './rate-meter.ts'
import { resourceManagerService } from './resource-manager.ts'
import { type RunningService, type ServiceContext, startService } from './service.ts'
import { changeSettings, settingsFields } from './settings.ts'
import { type ManagedIdentity, type Principal, Tenant } from './tenant.ts'
import { makeTokenBook, type TokenClaims } from './tokens.ts'

/** Resources in scopes of the real cloud; the stand-in also accepts its own address. */
const directoryResources = [
  'https://graph.microsoft.com',
  'https://graph.microsoft.us',
  'https://microsoftgraph.chinacloudapi.cn',
  directoryAppId,
]
const resourceManagerResources = [
  'https://management.core.windows.net/',
  'https://management.azure.com',
  'https://management.core.usgovcloudapi.net',
  'https://management.usgovcloudapi.net',
  'https://management.core.chinacloudapi.cn',
  'https://management.chinacloudapi.cn',
]

/** Starts the stand-in; it listens when the promise resolves. */
export async function startDirectory(options: DirectoryOptions = {}): Promise<Directory> {
  const { port = 0, now: givenNow = Date.now } = options
  await using stack = new AsyncDisposableStack()
  let settings = settingsFields.parse(options.settings ?? {})
  const now = () => givenNow() + settings.clockOffsetSeconds * 1000
  const tenant = new Tenant()
  const root = addFixtures(tenant, now())
  const [system, ...userAssigned] = addHostIdentities(tenant, now())
  const { directory: directoryApi, orders } = addResources(tenant, now())
  const identityHeader = randomBytes(16).toString('hex')
  const tokens = await makeTokenBook()
  const journal = makeJournal()
  const faults = makeFaultBox(() => settings.chaos)
  const certificates = certificatesOfProcess()
  const caFile = await writeCa(stack, certificates.ca)
  let turn = 0
  const context: ServiceContext = {
    certificates,
    faults,
    now,
    nextView: (): View => ({
      now: now(),
      replica: turn++ % settings.replicas,
      replicas: settings.replicas,
      delays: settings.delaySeconds,
    }),
    meter: makeRateMeter(() => settings.rateLimits, now),
    note: journal.note,
    isSilent: () => settings.isSilent,
    guard: makeConcurrencyGuard(() => settings.strictConcurrency),
  }

  const resources = {
    directory: new Set(directoryResources),
    'resource-manager': new Set(resourceManagerResources),
  }
  const callerFor = (service: keyof typeof resources) => (call: Call) =>
    readCaller(call, tokens.find, resources[service])
  const settingsNow = () => settings
  const isResource = (resource: string) =>
    resources.directory.has(resource) || resources['resource-manager'].has(resource) || isOrders(resource)
  const isOrders = (resource: string) => [orders.appId, `api://${orders.appId}`].includes(resource)
  const rolesAt = (principal: Principal, resource: string): string[] => {
    if (isOrders(resource)) return assignedRoles(tenant, principal, orders)
    if (!resources.directory.has(resource)) return []
    return [...new Set([...principal.roles, ...assignedRoles(tenant, principal, directoryApi)])]
  }
  const ports = [0, 1, 2, 3, 4].map((step) => (port === 0 ? 0 : port + step))
  const login = stack.use(
    await startService(
      loginService({
        tenant,
        tokens,
        settings: settingsNow,
        isResource,
        rolesAt,
        issuerKeys: makeIssuerKeys(() => settings.issuers, now),
      }),
      context,
      ports[0],
    ),
  )
  const graph = stack.use(
    await startService(
      graphService({ tenant, settings: settingsNow, caller: callerFor('directory') }),
      context,
      ports[1],
    ),
  )
  const manager = stack.use(
    await startService(
      resourceManagerService({ tenant, settings: settingsNow, caller: callerFor('resource-manager') }),
      context,
      ports[2],
    ),
  )
  const metadata = stack.use(
    await startService(
      metadataService({
        tenant,
        tokens,
        settings: settingsNow,
        isResource,
        rolesAt,
        identityHeader,
        exchangeIssuer: () => `${login.url}/${tenant.tenantId}/v2.0`,
      }),
      context,
      ports[4],
    ),
  )
  resources.directory.add(graph.url)
  resources['resource-manager'].add(manager.url)
  const running: Record<ServiceName, RunningService> = {
    login,
    directory: graph,
    'resource-manager': manager,
    metadata,
  }
  const those = (service: ServiceName | undefined) =>
    service === undefined ? Object.values(running) : [running[service]]

  function apply(): void {
    const roles = { roleNames: settings.rootRoles, resourceGroups: settings.rootResourceGroups }
    for (const principal of [
      root.principal,
      ...[system, ...userAssigned].map((one) => principalOf(tenant, one)),
    ]) {
      grantRoot(principal, settings)
      assignRootRoles(tenant, principal, roles, now())
    }
  }
  apply()

  let controls: Controls | undefined
  const kept = stack.move()
  const directory: Directory = {
    authorityUrl: login.url,
    directoryUrl: graph.url,
    resourceManagerUrl: manager.url,
    metadataUrl: metadata.url,
    identityEndpoint: `${metadata.url}/msi/token`,
    identityHeader,
    systemAssignedIdentity: hostIdentity(tenant, system),
    userAssignedIdentities: [hostIdentity(tenant, userAssigned[0]), hostIdentity(tenant, userAssigned[1])],
    get controlUrl() {
      return controls?.url
    },
    caFile,
    ca: certificates.ca,
    tenantId: tenant.tenantId,
    subscriptionId: tenant.subscriptionId,
    rootClientId: root.application.appId,
    rootClientSecret: root.secret,
    rootSecretKeyId: root.secretKeyId,
    rootApplicationId: root.application.id,
    rootServicePrincipalId: root.principal.id,
    groupIds: Object.fromEntries(tenant.groups.values().map(({ displayName, id }) => [displayName, id])),
    orders: { appId: orders.appId, servicePrincipalId: orders.id },
    get settings() {
      return settings
    },
    journal,
    admin: adminControlsOf(tenant, now, { addGroup, addRoleDefinition }),
    change: (change) => {
      settings = changeSettings(settings, change)
      apply()
    },
    fault: (...ordered) => {
      for (const fault of ordered) faults.order(fault)
    },
    clearFaults: faults.clear,
    release: faults.release,
    advance: (seconds) => {
      settings = { ...settings, clockOffsetSeconds: settings.clockOffsetSeconds + seconds }
    },
    inventory: () => inventoryOf(tenant),
    debris: (inUse = {}) => debrisOf(tenant, inUse),
    goDown: async (service) => void (await Promise.all(those(service).map((one) => one.goDown()))),
    comeBack: async (service) => void (await Promise.all(those(service).map((one) => one.comeBack()))),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
  if (options.controls === true) controls = kept.use(await startControls(directory, ports[3]))
  return directory
}

function principalOf(tenant: Tenant, { appId }: ManagedIdentity): Principal {
  const principal = tenant.principalByAppId(appId)
  if (principal === undefined) throw new Error('a managed identity has a service principal')
  return principal
}

const hostIdentity = (tenant: Tenant, identity: ManagedIdentity): HostIdentity => ({
  clientId: identity.appId,
  servicePrincipalId: principalOf(tenant, identity).id,
  resourceId: identity.resourceId,
})

async function writeCa(stack: AsyncDisposableStack, ca: string): Promise<string> {
  const folder = stack.use(await makeTemporaryFolder(tmpdir(), 'directory-'))
  const file = join(folder.path, 'ca.pem')
  await writeFile(file, ca)
  return file
}

/** The caller named by the bearer token, or why the token is invalid. */
function readCaller(
  { headers, view }: Call,
  find: (token: string) => TokenClaims | undefined,
  audiences: ReadonlySet<string>,
) {
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined) return 'missing'
  const claims = find(token)
  if (claims === undefined) return 'stranger'
  if (claims.exp * 1000 <= view.now) return 'expired'
  return audiences.has(claims.aud) ? claims : 'audience'
}
