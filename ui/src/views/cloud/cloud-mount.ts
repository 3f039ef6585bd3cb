/** A mount that issues credentials of a cloud. */
export type CloudMount = { readonly path: string; readonly isAzure: boolean }
