import type { AdminControls } from './admin-controls.ts'
import type { FaultInput } from './fault-fields.ts'
import type { InUse, Thing } from './inventory.ts'
import type { Journal } from './journal.ts'
import type { ServiceName } from './operations.ts'
import type { Settings, SettingsInput } from './settings.ts'

export type DirectoryOptions = {
  /**
   * The port of the identity platform; the directory, the resource manager, the control port and the metadata
   * service use the next four. Default 0: free ports.
   */
  port?: number
  /** Milliseconds since the epoch; default the system clock. */
  now?: () => number
  /** Initial settings; `change` changes them later. */
  settings?: SettingsInput
  /** Open the control port; default false. */
  controls?: boolean
}

/** An identity of the host that the program runs on. */
export type HostIdentity = { clientId: string; servicePrincipalId: string; resourceId: string }

/** A stand-in for the identity platform, the directory API and the resource manager, on loopback over TLS. */
export interface Directory extends AsyncDisposable {
  readonly authorityUrl: string
  readonly directoryUrl: string
  readonly resourceManagerUrl: string
  /** The metadata service of a virtual machine. Plain HTTP. */
  readonly metadataUrl: string
  /** `IDENTITY_ENDPOINT` and `IDENTITY_HEADER` of an application platform. */
  readonly identityEndpoint: string
  readonly identityHeader: string
  readonly systemAssignedIdentity: HostIdentity
  readonly userAssignedIdentities: readonly [HostIdentity, HostIdentity]
  /** Undefined without controls. Plain HTTP. */
  readonly controlUrl: string | undefined
  /** PEM file of the CA that signed the certificates; deleted on disposal. */
  readonly caFile: string
  readonly ca: string
  readonly tenantId: string
  readonly subscriptionId: string
  readonly rootClientId: string
  readonly rootClientSecret: string
  /** Key id of that secret. */
  readonly rootSecretKeyId: string
  /** Object ids of the root. */
  readonly rootApplicationId: string
  readonly rootServicePrincipalId: string
  /**
   * Object ids of the group fixtures by name. Two groups have the name `multiple`; this has the second one.
   */
  readonly groupIds: Readonly<Record<string, string>>
  /** An API whose app roles can be assigned. */
  readonly orders: { readonly appId: string; readonly servicePrincipalId: string }
  readonly settings: Settings
  readonly journal: Journal
  /** Direct changes by a test, without access checks, rate limits or journal entries. */
  readonly admin: AdminControls
  /** Changes some settings. */
  change(settings: SettingsInput): void
  /** Orders faults. */
  fault(...faults: FaultInput[]): void
  clearFaults(): void
  /** Sends the responses that `held` faults withhold. */
  release(): void
  /** Advances the stand-in's clock. */
  advance(seconds: number): void
  /** All existing objects that were created through the API. */
  inventory(): Thing[]
  debris(inUse?: InUse): Thing[]
  /** Connections to this service, or to all, are refused until `comeBack`. */
  goDown(service?: ServiceName): Promise<void>
  comeBack(service?: ServiceName): Promise<void>
}
