/** The part of the module that is used here. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  // biome-ignore lint/style/noDefaultExport: the module has one
  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
}
