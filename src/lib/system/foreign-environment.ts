/** The environment for another program: without the settings of this server, which may be secret. */
export const foreignEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(?:GATEHOUSE|CLOUD)_/.test(name)))
