// made by `npm run ui:types` from the server's OpenAPI document 0a1d31029d3b31e90fe9287302f11ad6

export interface paths {
    "/health/live": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-health-live-get-data"];
                    };
                };
            };
        };
    };
    "/health/ready": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-health-ready-get-data"];
                    };
                };
            };
        };
    };
    "/sys/health": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-health-get-data"];
                    };
                };
            };
        };
    };
    "/sys/seal-status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-seal-status-get-data"];
                    };
                };
            };
        };
    };
    "/sys/leader": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-leader-get-data"];
                    };
                };
            };
        };
    };
    "/sys/seal": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/step-down": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/unseal": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-unseal-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-unseal-post-data"];
                    };
                };
            };
        };
    };
    "/sys/init": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-init-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-init-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-init-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey/init": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-init-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-init-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-init-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-update-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey/verify": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-verify-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-verify-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-verify-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey-recovery-key/init": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-recovery-key-init-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-recovery-key-init-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-recovery-key-init-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey-recovery-key/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-recovery-key-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-recovery-key-update-post-data"];
                    };
                };
            };
        };
    };
    "/sys/rekey-recovery-key/verify": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-recovery-key-verify-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-rekey-recovery-key-verify-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-rekey-recovery-key-verify-post-data"];
                    };
                };
            };
        };
    };
    "/sys/generate-root/attempt": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-generate-root-attempt-get-data"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-generate-root-attempt-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-generate-root-attempt-post-data"];
                    };
                };
            };
        };
    };
    "/sys/generate-root/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["node-sys-generate-root-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-generate-root-update-post-data"];
                    };
                };
            };
        };
    };
    "/sys/metrics": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["node-sys-metrics-get-data"];
                    };
                };
            };
        };
    };
    "/cubbyhole/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cubbyhole-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cubbyhole-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/cubbyhole/{path}/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cubbyhole-path-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/entity": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-entity-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/entity/id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-id-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/entity/id/{id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-id-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-entity-id-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-id-id-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/entity/name": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-name-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/entity/name/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-name-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-entity-name-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-name-name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/entity/batch-delete": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["identity-entity-batch-delete-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/entity-alias": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-entity-alias-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-alias-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/entity-alias/id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-alias-id-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/entity-alias/id/{id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-alias-id-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-entity-alias-id-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-entity-alias-id-id-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/group": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-group-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/group/id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-id-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/group/id/{id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-id-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-group-id-id-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/group/name": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-name-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/group/name/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-name-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-group-name-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-name-name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/group-alias": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-group-alias-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-alias-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/group-alias/id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-alias-id-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/group-alias/id/{id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-alias-id-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-group-alias-id-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-group-alias-id-id-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/lookup/entity": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-lookup-entity-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-lookup-entity-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/lookup/group": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-lookup-group-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-lookup-group-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/entity/merge": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["identity-entity-merge-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/tidy": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-tidy-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-tidy-post-answer"];
                    };
                };
            };
        };
    };
    "/identity/oidc/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-oidc-config-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-config-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/identity/oidc/key": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-key-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/oidc/key/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-key-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-oidc-key-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/oidc/key/{name}/rotate": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-oidc-key-name-rotate-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/oidc/role": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-role-search-answer"];
                    };
                };
            };
        };
    };
    "/identity/oidc/role/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-role-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-oidc-role-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/identity/oidc/.well-known/openid-configuration": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-well-known-openid-configuration-get-data"];
                    };
                };
            };
        };
    };
    "/identity/oidc/.well-known/keys": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-well-known-keys-get-data"];
                    };
                };
            };
        };
    };
    "/identity/oidc/plugins/.well-known/openid-configuration": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-plugins-well-known-openid-configuration-get-data"];
                    };
                };
            };
        };
    };
    "/identity/oidc/plugins/.well-known/keys": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-plugins-well-known-keys-get-data"];
                    };
                };
            };
        };
    };
    "/identity/oidc/token/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-token-name-get-answer"];
                    };
                };
            };
        };
    };
    "/identity/oidc/introspect": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["identity-oidc-introspect-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["identity-oidc-introspect-post-data"];
                    };
                };
            };
        };
    };
    "/identity/entity/id/{id}/revoke-tokens": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/policies/acl": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-acl-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/policies/acl/{name}/what-if": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-policies-acl-name-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-acl-name-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/policies/acl/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-acl-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-policies-acl-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-acl-path-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/policies/acl/{path}/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-acl-path-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/policy": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policy-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/policy/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policy-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/policy/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policy-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-policy-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policy-path-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/policy/{path}/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policy-path-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/policies/explain": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-policies-explain-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-explain-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/policies/password": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-password-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/policies/password/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-password-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-policies-password-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/policies/password/{name}/generate": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-policies-password-name-generate-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/resultant-acl": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-resultant-acl-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/capabilities-self": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-capabilities-self-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-capabilities-self-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/capabilities": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-capabilities-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-capabilities-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/capabilities-accessor": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-capabilities-accessor-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-capabilities-accessor-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/auth": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-auth-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/auth/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-auth-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-auth-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/auth/{path}/tune": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-auth-path-tune-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-auth-path-tune-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/mounts": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-mounts-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/mounts/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-mounts-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-mounts-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/mounts/{path}/tune": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-mounts-path-tune-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-mounts-path-tune-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/remount": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-remount-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-remount-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/remount/status/{migration_id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-remount-status-migration_id-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/mounts": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-mounts-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/mounts/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-mounts-path-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/history": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-history-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/history/deleted": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-history-deleted-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/namespaces": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/namespaces/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-namespaces-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-path-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-path-delete-answer"];
                    };
                };
            };
        };
        patch: {
            requestBody?: {
                content: {
                    "application/merge-patch+json": components["schemas"]["system-namespaces-path-patch-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-path-patch-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/namespaces": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-namespaces-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/namespaces/api-lock/lock": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-api-lock-lock-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/namespaces/api-lock/lock/{path}": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-api-lock-lock-path-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/namespaces/api-lock/unlock": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-namespaces-api-lock-unlock-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-api-lock-unlock-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/sys/namespaces/api-lock/unlock/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-namespaces-api-lock-unlock-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-namespaces-api-lock-unlock-path-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/sys/leases/lookup": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-leases-lookup-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-lookup-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases/lookup/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-lookup-path-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases/renew": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-leases-renew-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-renew-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases/renew/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-leases-renew-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-renew-path-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases/revoke": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-leases-revoke-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/leases/revoke/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-leases-revoke-path-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/leases/revoke-prefix/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-leases-revoke-prefix-path-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/leases/revoke-force/{path}": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/renew": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-renew-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-renew-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/renew/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-renew-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-renew-path-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/revoke": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-revoke-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/revoke/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-revoke-path-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/revoke-prefix/{path}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-revoke-prefix-path-post-input"];
                };
            };
            responses: {
                202: {
                };
                204: {
                };
            };
        };
    };
    "/sys/revoke-force/{path}": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/leases/count": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-count-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/leases/tidy": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-leases-tidy-post-answer"];
                    };
                };
                202: {
                };
            };
        };
    };
    "/sys/locked-users": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-locked-users-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/locked-users/{mount_accessor}/unlock/{name}": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/key-status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-key-status-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/keyring": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/root": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-config-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/keyring/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-keyring-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-keyring-config-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/tools/random": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-tools-random-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-tools-random-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/tools/random/{urlbytes}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-tools-random-urlbytes-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-tools-random-urlbytes-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/tools/random/{source}/{urlbytes}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-tools-random-source-urlbytes-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-tools-random-source-urlbytes-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/tools/hash": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-tools-hash-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-tools-hash-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/tools/hash/{urlalgorithm}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-tools-hash-urlalgorithm-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-tools-hash-urlalgorithm-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/rekey/backup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rekey-backup-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rekey/recovery-key-backup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rekey-recovery-key-backup-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rekey-recovery-key/backup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rekey-recovery-key-backup-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/decode-token": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-decode-token-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-decode-token-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate/root/init": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-init-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-root-init-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-init-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/root/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-root-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-update-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate/root/verify": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-verify-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-root-verify-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-verify-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-verify-delete-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate/root/backup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-root-backup-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/recovery/init": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-init-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-recovery-init-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-init-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/rotate/recovery/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-recovery-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-update-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate/recovery/verify": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-verify-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-rotate-recovery-verify-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-verify-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-verify-delete-answer"];
                    };
                };
            };
        };
    };
    "/sys/rotate/recovery/backup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-rotate-recovery-backup-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/generate-root-token/attempt": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-generate-root-token-attempt-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-generate-root-token-attempt-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-generate-root-token-attempt-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/generate-root-token/update": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-generate-root-token-update-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-generate-root-token-update-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/wrapping/wrap": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-wrapping-wrap-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-wrapping-wrap-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/wrapping/lookup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-wrapping-lookup-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-wrapping-lookup-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-wrapping-lookup-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/wrapping/unwrap": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-wrapping-unwrap-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-wrapping-unwrap-post-data"];
                    };
                };
            };
        };
    };
    "/sys/wrapping/rewrap": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-wrapping-rewrap-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-wrapping-rewrap-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/ha-status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-ha-status-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/version-history": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-version-history-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/in-flight-req": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-in-flight-req-get-data"];
                    };
                };
            };
        };
    };
    "/sys/internal/counters/tokens": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-counters-tokens-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/counters/entities": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-counters-entities-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/counters/requests": {
        get: {
            responses: never;
        };
    };
    "/sys/storage/snapshot": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/octet-stream": string;
                    };
                };
            };
        };
    };
    "/sys/internal/counters/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-counters-config-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/state/sanitized": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-state-sanitized-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/replication/status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-replication-status-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/experiments": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-experiments-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/auth": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-auth-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/auth/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-auth-name-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/database": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-database-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/database/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-database-name-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/secret": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-secret-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/plugins/catalog/secret/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-plugins-catalog-secret-name-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/host-info": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-host-info-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/loggers": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-loggers-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-loggers-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/loggers/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-loggers-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-loggers-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/monitor": {
        get: {
            responses: {
                200: {
                    content: {
                        "text/plain": string;
                    };
                };
            };
        };
    };
    "/sys/config/cors": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-cors-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-config-cors-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/config/ui/headers": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-headers-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/ui/headers/{header}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-headers-header-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-config-ui-headers-header-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-headers-header-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/audit-chain": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-audit-chain-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/audit-chain/rotate": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/audit": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-audit-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/audit/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-audit-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-audit-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/audit-hash/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-audit-hash-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-audit-hash-path-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/auditing/request-headers": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-auditing-request-headers-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/auditing/request-headers/{header}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-auditing-request-headers-header-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-config-auditing-request-headers-header-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/quotas/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-quotas-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-quotas-config-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/quotas/rate-limit": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-quotas-rate-limit-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/quotas/rate-limit/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-quotas-rate-limit-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-quotas-rate-limit-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/quotas/lease-count": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-quotas-lease-count-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/quotas/lease-count/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-quotas-lease-count-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-quotas-lease-count-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/sys/internal/specs/openapi": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-specs-openapi-get-data"];
                    };
                };
            };
        };
    };
    "/sys/config/ui/custom-messages": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-search-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-config-ui-custom-messages-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/ui/custom-messages/preview": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-config-ui-custom-messages-preview-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-preview-post-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/ui/custom-messages/{id}/acks": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-id-acks-search-answer"];
                    };
                };
            };
        };
    };
    "/sys/config/ui/custom-messages/{id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["system-config-ui-custom-messages-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-id-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
        patch: {
            requestBody?: {
                content: {
                    "application/merge-patch+json": components["schemas"]["system-config-ui-custom-messages-id-patch-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-config-ui-custom-messages-id-patch-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/unauthenticated-messages": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-unauthenticated-messages-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/authenticated-messages": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["system-internal-ui-authenticated-messages-get-answer"];
                    };
                };
            };
        };
    };
    "/sys/internal/ui/authenticated-messages/{id}/ack": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["system-internal-ui-authenticated-messages-id-ack-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/token/create": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-create-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-create-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/create-orphan": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-create-orphan-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-create-orphan-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/create/{role_name}": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-create-role_name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-create-role_name-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/lookup": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-lookup-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-lookup-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-lookup-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/lookup-self": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-lookup-self-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-lookup-self-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-lookup-self-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/lookup-accessor": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-lookup-accessor-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-lookup-accessor-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/renew": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-renew-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-renew-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/renew-self": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-renew-self-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-renew-self-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/renew-accessor": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-renew-accessor-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-renew-accessor-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/revoke": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-revoke-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/token/revoke-self": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-revoke-self-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/token/revoke-accessor": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-revoke-accessor-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-revoke-accessor-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/auth/token/revoke-orphan": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["token-revoke-orphan-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/token/roles": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-roles-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/roles/{role_name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-roles-role_name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["token-roles-role_name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-roles-role_name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/token/accessors": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-accessors-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/token/tidy": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["token-tidy-post-answer"];
                    };
                };
                202: {
                };
            };
        };
    };
    "/{cloud_mount_path}/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-config-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{cloud_mount_path}/config/identity": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-identity-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/config/certificate": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-certificate-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-config-certificate-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-certificate-post-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/rotate-root": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-rotate-root-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{cloud_mount_path}/roles": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-roles-search-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/roles/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-roles-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-roles-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-roles-name-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{cloud_mount_path}/creds/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-creds-name-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/config/check": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-config-check-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/whois/{client_id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-whois-client_id-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/debris": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-debris-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/reap": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-reap-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-reap-post-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/pool": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-pool-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/token/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-token-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-token-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-token-name-post-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/static-roles": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-static-roles-search-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/static-roles/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-static-roles-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-static-roles-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-static-roles-name-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{cloud_mount_path}/static-roles/{name}/import": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-static-roles-name-import-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{cloud_mount_path}/static-creds/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-static-creds-name-get-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/static-creds/{name}/token": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["cloud-static-creds-name-token-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["cloud-static-creds-name-token-post-answer"];
                    };
                };
            };
        };
    };
    "/{cloud_mount_path}/rotate-role/{name}": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-config-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/config/identity": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-identity-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/config/certificate": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-certificate-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-config-certificate-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-certificate-post-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/rotate-root": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-rotate-root-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/roles": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-roles-search-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/roles/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-roles-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-roles-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-roles-name-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/creds/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-creds-name-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/config/check": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-config-check-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/whois/{client_id}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-whois-client_id-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/debris": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-debris-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/reap": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-reap-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-reap-post-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/pool": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-pool-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/token/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-token-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-token-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-token-name-post-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/static-roles": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-static-roles-search-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/static-roles/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-static-roles-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-static-roles-name-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-static-roles-name-delete-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/static-roles/{name}/import": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-static-roles-name-import-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{azure_mount_path}/static-creds/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-static-creds-name-get-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/static-creds/{name}/token": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["azure-static-creds-name-token-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["azure-static-creds-name-token-post-answer"];
                    };
                };
            };
        };
    };
    "/{azure_mount_path}/rotate-role/{name}": {
        post: {
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv_mount_path}/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kv-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv_mount_path}/{path}/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-path-search-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kv-v2-config-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv-v2_mount_path}/delete/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-delete-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv-v2_mount_path}/undelete/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-undelete-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv-v2_mount_path}/destroy/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-destroy-path-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/{kv-v2_mount_path}/data/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-data-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-data-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-data-path-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
        patch: {
            requestBody: {
                content: {
                    "application/merge-patch+json": components["schemas"]["kv-v2-data-path-patch-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-data-path-patch-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/subkeys/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-subkeys-path-get-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/metadata/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-metadata-path-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kv-v2-metadata-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-metadata-path-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
        patch: {
            requestBody?: {
                content: {
                    "application/merge-patch+json": components["schemas"]["kv-v2-metadata-path-patch-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-metadata-path-patch-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/{kv-v2_mount_path}/metadata/{path}/": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-metadata-path-search-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/detailed-metadata/{path}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-detailed-metadata-path-search-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/restore/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-restore-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-restore-path-post-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/copy/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-copy-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-copy-path-post-answer"];
                    };
                };
            };
        };
    };
    "/{kv-v2_mount_path}/move/{path}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kv-v2-move-path-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kv-v2-move-path-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-config-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-config-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/role": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-role-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/role/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-role-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-role-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-role-name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/role/{name}/what-if": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-role-name-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-role-name-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/config/what-if": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-config-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-config-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/login": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["jwt-login-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-login-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/oidc/auth_url": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-oidc-auth_url-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-oidc-auth_url-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/oidc/callback": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-oidc-callback-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-oidc-callback-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "text/html": string;
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/oidc/poll": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-oidc-poll-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-oidc-poll-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/cel/role": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-role-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/cel/role/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-role-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["jwt-cel-role-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-role-name-post-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
        patch: {
            requestBody?: {
                content: {
                    "application/merge-patch+json": components["schemas"]["jwt-cel-role-name-patch-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-role-name-patch-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/cel/role/{name}/what-if": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-cel-role-name-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-role-name-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/cel/login": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["jwt-cel-login-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-login-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/cel/try": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-cel-try-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-cel-try-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/explain": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-explain-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-explain-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-explain-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/failures": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-failures-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/failures/hash": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["jwt-failures-hash-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-failures-hash-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-status-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/keys": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-keys-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{jwt_mount_path}/lint": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["jwt-lint-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/users": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-users-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/users/{username}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-users-username-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["userpass-users-username-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/users/{username}/password": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["userpass-users-username-password-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/users/{username}/policies": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["userpass-users-username-policies-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/login/{username}": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["userpass-login-username-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-login-username-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/explain": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-explain-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["userpass-explain-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-explain-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/failures": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-failures-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{userpass_mount_path}/failures/hash": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["userpass-failures-hash-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["userpass-failures-hash-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/policies": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-policies-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-policies-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/bound-cidr-list": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-bound-cidr-list-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-bound-cidr-list-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id-bound-cidrs": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-bound-cidrs-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-bound-cidrs-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/token-bound-cidrs": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-token-bound-cidrs-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-token-bound-cidrs-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/bind-secret-id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-bind-secret-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-bind-secret-id-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id-num-uses": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-num-uses-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-num-uses-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id-ttl": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-ttl-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-ttl-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/period": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-period-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-period-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/token-num-uses": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-token-num-uses-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-token-num-uses-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/token-ttl": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-token-ttl-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-token-ttl-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/token-max-ttl": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-token-max-ttl-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-token-max-ttl-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/role-id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-role-id-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-role-id-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/local-secret-ids": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-local-secret-ids-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-search-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/custom-secret-id": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-custom-secret-id-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-custom-secret-id-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id/lookup": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-lookup-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-lookup-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id/search": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-search-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-search-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id/destroy": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-destroy-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id-accessor/lookup": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-accessor-lookup-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-role-role_name-secret-id-accessor-lookup-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/role/{role_name}/secret-id-accessor/destroy": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-role-role_name-secret-id-accessor-destroy-post-input"];
                };
            };
            responses: {
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/login": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["approle-login-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-login-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/explain": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-explain-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-explain-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-explain-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/failures": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-failures-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/failures/hash": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["approle-failures-hash-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-failures-hash-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{approle_mount_path}/tidy/secret-id": {
        post: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-tidy-secret-id-post-answer"];
                    };
                };
                202: {
                };
            };
        };
    };
    "/auth/{approle_mount_path}/lint": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["approle-lint-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/config": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-config-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-config-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-config-post-answer"];
                    };
                };
                204: {
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/role": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-role-search-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/role/{name}": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-role-name-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-role-name-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-role-name-post-answer"];
                    };
                };
                204: {
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/role/{name}/what-if": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-role-name-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-role-name-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/config/what-if": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-config-what-if-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-config-what-if-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/login": {
        post: {
            requestBody: {
                content: {
                    "application/json": components["schemas"]["kubernetes-login-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-login-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/explain": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-explain-get-answer"];
                    };
                };
            };
        };
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-explain-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-explain-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/failures": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-failures-get-answer"];
                    };
                };
            };
        };
        delete: {
            responses: {
                204: {
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/failures/hash": {
        post: {
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["kubernetes-failures-hash-post-input"];
                };
            };
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-failures-hash-post-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/status": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-status-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/keys": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-keys-get-answer"];
                    };
                };
            };
        };
    };
    "/auth/{kubernetes_mount_path}/lint": {
        get: {
            responses: {
                200: {
                    content: {
                        "application/json": components["schemas"]["kubernetes-lint-get-answer"];
                    };
                };
            };
        };
    };
}
export interface components {
    schemas: {
        Auth: {
            client_token: string;
            accessor: string;
            policies: string[];
            token_policies?: string[];
            identity_policies?: string[];
            metadata?: {
                [key: string]: string;
            } | null;
            lease_duration: number;
            renewable: boolean;
            entity_id: string;
            /** @enum {string} */
            token_type: "service" | "batch";
            orphan: boolean;
            num_uses: number;
        } & {
            [key: string]: unknown;
        };
        WrapInfo: {
            token: string;
            accessor: string;
            ttl: number;
            /** Format: date-time */
            creation_time: string;
            creation_path: string;
            wrapped_accessor?: string;
        } & {
            [key: string]: unknown;
        };
        Errors: {
            errors: string[];
            /** Format: uuid */
            request_id?: string;
        } & {
            [key: string]: unknown;
        };
        "node-health-live-get-data": {
            status: string;
        } & {
            [key: string]: unknown;
        };
        "node-health-ready-get-data": {
            status: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-health-get-data": {
            initialized: boolean;
            sealed: boolean;
            standby: boolean;
            performance_standby: boolean;
            replication_performance_mode: string;
            replication_dr_mode: string;
            server_time_utc: number;
            version: string;
            gatehouse_version: string;
            enterprise: boolean;
            cluster_name?: string;
            cluster_id?: string;
            /** @constant */
            exact_list_matching?: true;
            storage?: string;
            maintenance?: ({
                /** @enum {string} */
                effect: "read_only" | "no_new_credentials";
                /** Format: date-time */
                until: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "node-sys-seal-status-get-data": {
            type: string;
            initialized: boolean;
            sealed: boolean;
            t: number;
            n: number;
            progress: number;
            nonce: string;
            version: string;
            build_date: string;
            commit_date: string;
            migration: boolean;
            cluster_name?: string;
            cluster_id?: string;
            recovery_seal: boolean;
            storage_type: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-leader-get-data": {
            ha_enabled: boolean;
            is_self: boolean;
            active_time: string;
            leader_address: string;
            leader_cluster_address: string;
            performance_standby: boolean;
            performance_standby_last_remote_wal: number;
        } & {
            [key: string]: unknown;
        };
        "node-sys-unseal-post-data": {
            type: string;
            initialized: boolean;
            sealed: boolean;
            t: number;
            n: number;
            progress: number;
            nonce: string;
            version: string;
            build_date: string;
            commit_date: string;
            migration: boolean;
            cluster_name?: string;
            cluster_id?: string;
            recovery_seal: boolean;
            storage_type: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-unseal-post-input": {
            key?: string;
            reset?: boolean;
        };
        "node-sys-init-get-data": {
            initialized?: boolean;
            keys?: string[];
            keys_base64?: string[];
            recovery_keys?: string[];
            recovery_keys_base64?: string[];
            root_token?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-init-post-data": {
            initialized?: boolean;
            keys?: string[];
            keys_base64?: string[];
            recovery_keys?: string[];
            recovery_keys_base64?: string[];
            root_token?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-init-post-input": {
            secret_shares?: number;
            secret_threshold?: number;
            pgp_keys?: string[];
            recovery_shares?: number;
            recovery_threshold?: number;
            recovery_pgp_keys?: string[];
            root_token_pgp_key?: string;
        };
        "node-sys-rekey-init-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-init-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-init-post-input": {
            secret_shares?: number;
            secret_threshold?: number;
            pgp_keys?: string[];
            backup?: boolean;
            require_verification?: boolean;
        };
        "node-sys-rekey-update-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "node-sys-rekey-verify-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-verify-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-verify-post-input": {
            key?: string;
            nonce?: string;
        };
        "node-sys-rekey-recovery-key-init-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-recovery-key-init-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-recovery-key-init-post-input": {
            secret_shares?: number;
            secret_threshold?: number;
            pgp_keys?: string[];
            backup?: boolean;
            require_verification?: boolean;
        };
        "node-sys-rekey-recovery-key-update-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-recovery-key-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "node-sys-rekey-recovery-key-verify-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-recovery-key-verify-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "node-sys-rekey-recovery-key-verify-post-input": {
            key?: string;
            nonce?: string;
        };
        "node-sys-generate-root-attempt-get-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "node-sys-generate-root-attempt-post-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "node-sys-generate-root-attempt-post-input": {
            otp?: string;
            pgp_key?: string;
        };
        "node-sys-generate-root-update-post-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "node-sys-generate-root-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "node-sys-metrics-get-data": {
            Timestamp: string;
            Gauges: {
                [key: string]: unknown;
            }[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-acl-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-name-what-if-post-data": {
            since: string;
            days: number;
            uses: number;
            requests: number;
            lose: number;
            gain: number;
            rules: ({
                path: string;
                uses: number;
                requests: number;
                last_at: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                entity_id: string;
                path: string;
                operation: string;
                requests: number;
                last_at: string;
                /** @enum {string} */
                before: "allowed" | "denied";
                /** @enum {string} */
                after: "allowed" | "denied";
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-name-what-if-post-input": {
            policy: string;
            ttl?: string;
            /** Format: date-time */
            expiration?: string;
            cas?: number;
            cas_required?: boolean;
            allow_slashes_in_identity_templates?: boolean;
            allow_wildcards_in_identity_templates?: boolean;
        };
        "system-policies-acl-name-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-acl-name-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-path-get-data": {
            name: string;
            policy: string;
            version?: number;
            /** Format: date-time */
            modified?: string;
            cas_required?: boolean;
            /** Format: date-time */
            expiration?: string;
            /** @constant */
            allow_slashes_in_identity_templates?: true;
            /** @constant */
            allow_wildcards_in_identity_templates?: true;
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-acl-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-path-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-acl-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-acl-path-post-input": {
            policy: string;
            ttl?: string;
            /** Format: date-time */
            expiration?: string;
            cas?: number;
            cas_required?: boolean;
            allow_slashes_in_identity_templates?: boolean;
            allow_wildcards_in_identity_templates?: boolean;
        };
        "system-policies-acl-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policy-get-data": {
            keys: string[];
            policies: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policy-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policy-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policy-search-data": {
            keys: string[];
            policies: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policy-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policy-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policy-path-get-data": {
            name: string;
            rules: string;
            version?: number;
            /** Format: date-time */
            modified?: string;
            cas_required?: boolean;
            /** Format: date-time */
            expiration?: string;
            /** @constant */
            allow_slashes_in_identity_templates?: true;
            /** @constant */
            allow_wildcards_in_identity_templates?: true;
        } & {
            [key: string]: unknown;
        };
        "system-policy-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policy-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policy-path-search-data": {
            keys: string[];
            policies: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policy-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policy-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policy-path-post-input": {
            policy?: string;
            ttl?: string;
            /** Format: date-time */
            expiration?: string;
            cas?: number;
            cas_required?: boolean;
            allow_slashes_in_identity_templates?: boolean;
            allow_wildcards_in_identity_templates?: boolean;
            rules?: string;
        };
        "system-policy-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-explain-post-data": {
            allowed: boolean;
            sudo: boolean;
            /** @enum {string} */
            reason: "root" | "granted" | "no_rule" | "denied" | "not_granted" | "withheld";
            rule?: ({
                path: string;
                capabilities: string[];
                policies: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            others: ({
                path: string;
                capabilities: string[];
                policies: string[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-explain-post-input": {
            path: string;
            /** @enum {string} */
            operation?: "create" | "read" | "update" | "patch" | "delete" | "list" | "scan";
            accessor?: string;
            entity_id?: string;
            policies?: string[];
            policy?: string;
        };
        "system-policies-explain-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-explain-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-password-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-name-get-data": {
            policy: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-password-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-name-post-input": {
            policy: string;
        };
        "system-policies-password-name-generate-get-data": {
            password: string;
        } & {
            [key: string]: unknown;
        };
        "system-policies-password-name-generate-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-policies-password-name-generate-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-resultant-acl-get-data": {
            root: boolean;
            exact_paths?: {
                [key: string]: unknown;
            };
            glob_paths?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-resultant-acl-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-resultant-acl-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-capabilities-self-post-data": {
            [key: string]: string[];
        };
        "system-capabilities-self-post-input": {
            paths?: string[];
            path?: string[];
            token?: string;
        };
        "system-capabilities-self-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-capabilities-self-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-capabilities-post-data": {
            [key: string]: string[];
        };
        "system-capabilities-post-input": {
            paths?: string[];
            path?: string[];
            token: string;
        };
        "system-capabilities-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-capabilities-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-capabilities-accessor-post-data": {
            [key: string]: string[];
        };
        "system-capabilities-accessor-post-input": {
            paths?: string[];
            path?: string[];
            accessor: string;
        };
        "system-capabilities-accessor-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-capabilities-accessor-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-auth-get-data": {
            [key: string]: {
                accessor: string;
                config: {
                    default_lease_ttl: number;
                    force_no_cache: boolean;
                    max_lease_ttl: number;
                } & {
                    [key: string]: unknown;
                };
                deprecation_status?: string;
                description: string;
                external_entropy_access: boolean;
                local: boolean;
                options?: {
                    [key: string]: string;
                } | null;
                plugin_version: string;
                running_plugin_version: string;
                running_sha256: string;
                seal_wrap: boolean;
                type: string;
                uuid: string;
            } & {
                [key: string]: unknown;
            };
        };
        "system-auth-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-auth-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-auth-path-get-data": {
            accessor: string;
            config: {
                default_lease_ttl: number;
                force_no_cache: boolean;
                max_lease_ttl: number;
            } & {
                [key: string]: unknown;
            };
            deprecation_status?: string;
            description: string;
            external_entropy_access: boolean;
            local: boolean;
            options?: {
                [key: string]: string;
            } | null;
            plugin_version: string;
            running_plugin_version: string;
            running_sha256: string;
            seal_wrap: boolean;
            type: string;
            uuid: string;
        } & {
            [key: string]: unknown;
        };
        "system-auth-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-auth-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-auth-path-post-input": {
            type?: string;
            plugin_name?: string;
            description?: string;
            config?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: string;
            };
            local?: boolean;
            seal_wrap?: boolean;
            external_entropy_access?: boolean;
        };
        "system-auth-path-tune-get-data": {
            default_lease_ttl: number;
            description: string;
            force_no_cache: boolean;
            max_lease_ttl: number;
            options?: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        "system-auth-path-tune-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-auth-path-tune-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-auth-path-tune-post-input": {
            default_lease_ttl?: string;
            max_lease_ttl?: string;
            description?: string;
            audit_non_hmac_request_keys?: string[];
            audit_non_hmac_response_keys?: string[];
            passthrough_request_headers?: string[];
            allowed_response_headers?: string[];
            allowed_managed_keys?: string[];
            delegated_auth_accessors?: string[];
            trim_request_trailing_slashes?: boolean;
            listing_visibility?: string;
            token_type?: string;
            options?: {
                [key: string]: string;
            };
            user_lockout_config?: {
                [key: string]: unknown;
            };
            plugin_version?: string;
            identity_token_key?: string;
        };
        "system-mounts-get-data": {
            [key: string]: {
                accessor: string;
                config: {
                    default_lease_ttl: number;
                    force_no_cache: boolean;
                    max_lease_ttl: number;
                } & {
                    [key: string]: unknown;
                };
                deprecation_status?: string;
                description: string;
                external_entropy_access: boolean;
                local: boolean;
                options?: {
                    [key: string]: string;
                } | null;
                plugin_version: string;
                running_plugin_version: string;
                running_sha256: string;
                seal_wrap: boolean;
                type: string;
                uuid: string;
            } & {
                [key: string]: unknown;
            };
        };
        "system-mounts-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-mounts-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-mounts-path-get-data": {
            accessor: string;
            config: {
                default_lease_ttl: number;
                force_no_cache: boolean;
                max_lease_ttl: number;
            } & {
                [key: string]: unknown;
            };
            deprecation_status?: string;
            description: string;
            external_entropy_access: boolean;
            local: boolean;
            options?: {
                [key: string]: string;
            } | null;
            plugin_version: string;
            running_plugin_version: string;
            running_sha256: string;
            seal_wrap: boolean;
            type: string;
            uuid: string;
        } & {
            [key: string]: unknown;
        };
        "system-mounts-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-mounts-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-mounts-path-post-input": {
            type?: string;
            plugin_name?: string;
            description?: string;
            config?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: string;
            };
            local?: boolean;
            seal_wrap?: boolean;
            external_entropy_access?: boolean;
        };
        "system-mounts-path-tune-get-data": {
            default_lease_ttl: number;
            description: string;
            force_no_cache: boolean;
            max_lease_ttl: number;
            options?: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        "system-mounts-path-tune-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-mounts-path-tune-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-mounts-path-tune-post-input": {
            default_lease_ttl?: string;
            max_lease_ttl?: string;
            description?: string;
            audit_non_hmac_request_keys?: string[];
            audit_non_hmac_response_keys?: string[];
            passthrough_request_headers?: string[];
            allowed_response_headers?: string[];
            allowed_managed_keys?: string[];
            delegated_auth_accessors?: string[];
            trim_request_trailing_slashes?: boolean;
            listing_visibility?: string;
            token_type?: string;
            options?: {
                [key: string]: string;
            };
            user_lockout_config?: {
                [key: string]: unknown;
            };
            plugin_version?: string;
            identity_token_key?: string;
        };
        "system-remount-post-data": {
            migration_id: string;
        } & {
            [key: string]: unknown;
        };
        "system-remount-post-input": {
            from: string;
            to: string;
        };
        "system-remount-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-remount-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-remount-status-migration_id-get-data": {
            migration_id: string;
            migration_info: {
                source_mount: string;
                /** @enum {string} */
                status: "in-progress" | "success" | "failure";
                target_mount: string;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-remount-status-migration_id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-remount-status-migration_id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-mounts-get-data": {
            auth: {
                [key: string]: ({
                    accessor: string;
                    config: {
                        default_lease_ttl: number;
                        force_no_cache: boolean;
                        max_lease_ttl: number;
                    } & {
                        [key: string]: unknown;
                    };
                    deprecation_status?: string;
                    description: string;
                    external_entropy_access: boolean;
                    local: boolean;
                    options?: {
                        [key: string]: string;
                    } | null;
                    plugin_version: string;
                    running_plugin_version: string;
                    running_sha256: string;
                    seal_wrap: boolean;
                    type: string;
                    uuid: string;
                } & {
                    [key: string]: unknown;
                }) | ({
                    description: string;
                    options?: {
                        [key: string]: string;
                    } | null;
                    type: string;
                } & {
                    [key: string]: unknown;
                });
            };
            secret: {
                [key: string]: ({
                    accessor: string;
                    config: {
                        default_lease_ttl: number;
                        force_no_cache: boolean;
                        max_lease_ttl: number;
                    } & {
                        [key: string]: unknown;
                    };
                    deprecation_status?: string;
                    description: string;
                    external_entropy_access: boolean;
                    local: boolean;
                    options?: {
                        [key: string]: string;
                    } | null;
                    plugin_version: string;
                    running_plugin_version: string;
                    running_sha256: string;
                    seal_wrap: boolean;
                    type: string;
                    uuid: string;
                } & {
                    [key: string]: unknown;
                }) | ({
                    description: string;
                    options?: {
                        [key: string]: string;
                    } | null;
                    type: string;
                } & {
                    [key: string]: unknown;
                });
            };
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-mounts-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-mounts-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-mounts-path-get-data": {
            accessor: string;
            config: {
                default_lease_ttl: number;
                force_no_cache: boolean;
                max_lease_ttl: number;
            } & {
                [key: string]: unknown;
            };
            deprecation_status?: string;
            description: string;
            external_entropy_access: boolean;
            local: boolean;
            options?: {
                [key: string]: string;
            } | null;
            plugin_version: string;
            running_plugin_version: string;
            running_sha256: string;
            seal_wrap: boolean;
            type: string;
            uuid: string;
            path: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-mounts-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-mounts-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-history-get-data": {
            changes: ({
                time: string;
                path: string;
                /** @enum {string} */
                operation: "create" | "update" | "delete";
                version: number;
                changed: string[];
                by: {
                    entity_id: string;
                    display_name: string;
                    token_accessor_hash: string;
                } & {
                    [key: string]: unknown;
                };
                request_id: string;
                restored?: number;
            } & {
                [key: string]: unknown;
            })[];
            next?: string;
        } & {
            [key: string]: unknown;
        };
        "system-history-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-history-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-history-deleted-get-data": {
            deleted: ({
                time: string;
                path: string;
                version: number;
                by: {
                    entity_id: string;
                    display_name: string;
                    token_accessor_hash: string;
                } & {
                    [key: string]: unknown;
                };
                request_id: string;
                restorable: boolean;
            } & {
                [key: string]: unknown;
            })[];
            next?: string;
        } & {
            [key: string]: unknown;
        };
        "system-history-deleted-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-history-deleted-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    id: string;
                    uuid: string;
                    path: string;
                    tainted: boolean;
                    locked: boolean;
                    custom_metadata: {
                        [key: string]: string;
                    };
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-get-data": {
            id: string;
            uuid: string;
            path: string;
            tainted: boolean;
            locked: boolean;
            custom_metadata: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-post-data": {
            id: string;
            uuid: string;
            path: string;
            tainted: boolean;
            locked: boolean;
            custom_metadata: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-post-input": {
            custom_metadata?: {
                [key: string]: unknown;
            };
        };
        "system-namespaces-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-patch-data": {
            id: string;
            uuid: string;
            path: string;
            tainted: boolean;
            locked: boolean;
            custom_metadata: {
                [key: string]: string;
            };
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-patch-input": {
            custom_metadata?: {
                [key: string]: unknown;
            };
        };
        "system-namespaces-path-patch-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-path-patch-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-path-delete-data": unknown;
        "system-namespaces-path-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-path-delete-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-namespaces-get-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-namespaces-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-namespaces-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-lock-post-data": {
            unlock_key: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-lock-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-api-lock-lock-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-lock-path-post-data": {
            unlock_key: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-lock-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-namespaces-api-lock-lock-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-unlock-post-input": {
            unlock_key?: string;
        };
        "system-namespaces-api-lock-unlock-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-namespaces-api-lock-unlock-path-post-input": {
            unlock_key?: string;
        };
        "system-namespaces-api-lock-unlock-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-lookup-post-data": {
            id: string;
            path: string;
            /** Format: date-time */
            issue_time: string;
            /** Format: date-time */
            expire_time: string | null;
            /** Format: date-time */
            last_renewal: string | null;
            renewable: boolean;
            ttl: number;
            namespace_path?: string;
            entity_id?: string;
            revoke_error?: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-lookup-post-input": {
            lease_id: string;
        };
        "system-leases-lookup-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-leases-lookup-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-lookup-path-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-leases-lookup-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-leases-lookup-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-renew-post-input": {
            lease_id: string;
            increment?: string;
        };
        "system-leases-renew-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-renew-path-post-input": {
            lease_id?: string;
            increment?: string;
        };
        "system-leases-renew-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-revoke-post-input": {
            lease_id: string;
            sync?: boolean;
        };
        "system-leases-revoke-path-post-input": {
            lease_id?: string;
            sync?: boolean;
        };
        "system-leases-revoke-prefix-path-post-input": {
            sync?: boolean;
        };
        "system-renew-post-input": {
            lease_id: string;
            increment?: string;
        };
        "system-renew-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-renew-path-post-input": {
            lease_id?: string;
            increment?: string;
        };
        "system-renew-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-revoke-post-input": {
            lease_id: string;
            sync?: boolean;
        };
        "system-revoke-path-post-input": {
            lease_id?: string;
            sync?: boolean;
        };
        "system-revoke-prefix-path-post-input": {
            sync?: boolean;
        };
        "system-leases-count-get-data": {
            lease_count: number;
            counts: {
                [key: string]: number;
            };
        } & {
            [key: string]: unknown;
        };
        "system-leases-count-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-leases-count-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-get-data": {
            lease_count: number;
            leases: ({
                lease_id: string;
                mount_id: string;
                error: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-leases-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-leases-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-leases-tidy-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-locked-users-get-data": {
            by_namespace: ({
                namespace_id: string;
                namespace_path: string;
                counts: number;
                mount_accessors: ({
                    mount_accessor: string;
                    counts: number;
                    alias_identifiers: string[] | null;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            })[];
            total: number;
        } & {
            [key: string]: unknown;
        };
        "system-locked-users-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-locked-users-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-key-status-get-data": {
            term: number;
            /** Format: date-time */
            install_time: string;
            encryptions: number;
        } & {
            [key: string]: unknown;
        };
        "system-key-status-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-key-status-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-config-get-data": {
            enabled: boolean;
            interval: number;
            max_operations: number;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-config-post-input": {
            enabled?: boolean;
            interval?: string;
            max_operations?: number;
        };
        "system-rotate-keyring-config-get-data": {
            enabled: boolean;
            interval: number;
            max_operations: number;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-keyring-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-keyring-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-keyring-config-post-input": {
            enabled?: boolean;
            interval?: string;
            max_operations?: number;
        };
        "system-tools-random-post-data": {
            random_bytes: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-random-post-input": {
            bytes?: number;
            format?: string;
            source?: string;
        };
        "system-tools-random-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-tools-random-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-random-urlbytes-post-data": {
            random_bytes: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-random-urlbytes-post-input": {
            bytes?: number;
            format?: string;
            source?: string;
        };
        "system-tools-random-urlbytes-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-tools-random-urlbytes-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-random-source-urlbytes-post-data": {
            random_bytes: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-random-source-urlbytes-post-input": {
            bytes?: number;
            format?: string;
            source?: string;
        };
        "system-tools-random-source-urlbytes-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-tools-random-source-urlbytes-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-hash-post-data": {
            sum: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-hash-post-input": {
            input?: string;
            format?: string;
            algorithm?: string;
        };
        "system-tools-hash-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-tools-hash-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-hash-urlalgorithm-post-data": {
            sum: string;
        } & {
            [key: string]: unknown;
        };
        "system-tools-hash-urlalgorithm-post-input": {
            input?: string;
            format?: string;
            algorithm?: string;
        };
        "system-tools-hash-urlalgorithm-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-tools-hash-urlalgorithm-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rekey-backup-get-data": {
            nonce: string;
            keys: {
                [key: string]: string[];
            };
            keys_base64: {
                [key: string]: string[];
            };
        } & {
            [key: string]: unknown;
        };
        "system-rekey-backup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rekey-backup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rekey-recovery-key-backup-get-data": {
            nonce: string;
            keys: {
                [key: string]: string[];
            };
            keys_base64: {
                [key: string]: string[];
            };
        } & {
            [key: string]: unknown;
        };
        "system-rekey-recovery-key-backup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rekey-recovery-key-backup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-decode-token-post-data": {
            token: string;
        } & {
            [key: string]: unknown;
        };
        "system-decode-token-post-input": {
            encoded_token?: string;
            otp?: string;
        };
        "system-decode-token-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-decode-token-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-init-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-init-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-init-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-init-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-init-post-input": {
            secret_shares?: number;
            secret_threshold?: number;
            pgp_keys?: string[];
            backup?: boolean;
            require_verification?: boolean;
        };
        "system-rotate-root-init-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-init-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-update-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "system-rotate-root-update-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-update-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-verify-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-post-input": {
            key?: string;
            nonce?: string;
        };
        "system-rotate-root-verify-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-verify-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-delete-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-verify-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-verify-delete-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-backup-get-data": {
            nonce: string;
            keys: {
                [key: string]: string[];
            };
            keys_base64: {
                [key: string]: string[];
            };
        } & {
            [key: string]: unknown;
        };
        "system-rotate-root-backup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-root-backup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-init-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-init-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-init-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-init-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-init-post-input": {
            secret_shares?: number;
            secret_threshold?: number;
            pgp_keys?: string[];
            backup?: boolean;
            require_verification?: boolean;
        };
        "system-rotate-recovery-init-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-init-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-update-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            required?: number;
            complete?: boolean;
            keys?: string[];
            keys_base64?: string[];
            pgp_fingerprints: string[] | null;
            backup: boolean;
            verification_required: boolean;
            verification_nonce?: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "system-rotate-recovery-update-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-update-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-get-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-verify-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-post-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-post-input": {
            key?: string;
            nonce?: string;
        };
        "system-rotate-recovery-verify-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-verify-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-delete-data": {
            nonce: string;
            started?: boolean;
            t?: number;
            n?: number;
            progress?: number;
            complete?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-verify-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-verify-delete-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-backup-get-data": {
            nonce: string;
            keys: {
                [key: string]: string[];
            };
            keys_base64: {
                [key: string]: string[];
            };
        } & {
            [key: string]: unknown;
        };
        "system-rotate-recovery-backup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-rotate-recovery-backup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-attempt-get-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-attempt-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-generate-root-token-attempt-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-attempt-post-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-attempt-post-input": {
            otp?: string;
            pgp_key?: string;
        };
        "system-generate-root-token-attempt-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-generate-root-token-attempt-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-update-post-data": {
            nonce: string;
            started: boolean;
            progress: number;
            required: number;
            complete: boolean;
            encoded_token: string;
            encoded_root_token: string;
            pgp_fingerprint: string;
            otp: string;
            otp_length: number;
        } & {
            [key: string]: unknown;
        };
        "system-generate-root-token-update-post-input": {
            key?: string;
            nonce?: string;
        };
        "system-generate-root-token-update-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-generate-root-token-update-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-wrap-post-input": {
            [key: string]: unknown;
        };
        "system-wrapping-wrap-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            wrap_info: components["schemas"]["WrapInfo"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-lookup-get-data": {
            creation_ttl: number;
            /** Format: date-time */
            creation_time: string;
            creation_path: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-lookup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-wrapping-lookup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-lookup-post-data": {
            creation_ttl: number;
            /** Format: date-time */
            creation_time: string;
            creation_path: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-lookup-post-input": {
            token?: string;
        };
        "system-wrapping-lookup-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-wrapping-lookup-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-unwrap-post-data": {
            data?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        "system-wrapping-unwrap-post-input": {
            token?: string;
        };
        "system-wrapping-rewrap-post-input": {
            token?: string;
        };
        "system-wrapping-rewrap-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            wrap_info: components["schemas"]["WrapInfo"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-ha-status-get-data": {
            nodes: ({
                hostname: string;
                api_address: string;
                cluster_address: string;
                active_node: boolean;
                /** Format: date-time */
                last_echo: string | null;
                version: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-ha-status-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-ha-status-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-version-history-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    /** Format: date-time */
                    build_date: string;
                    /** Format: date-time */
                    commit_date: string;
                    previous_version: string | null;
                    /** Format: date-time */
                    timestamp_installed: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "system-version-history-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-version-history-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-in-flight-req-get-data": {
            [key: string]: {
                /** Format: date-time */
                start_time: string;
                client_remote_address: string;
                request_path: string;
                request_method: string;
                client_id: string;
            } & {
                [key: string]: unknown;
            };
        };
        "system-internal-counters-tokens-get-data": {
            counters: {
                service_tokens: {
                    total: number;
                } & {
                    [key: string]: unknown;
                };
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-internal-counters-tokens-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-counters-tokens-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-counters-entities-get-data": {
            counters: {
                entities: {
                    total: number;
                } & {
                    [key: string]: unknown;
                };
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-internal-counters-entities-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-counters-entities-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-counters-config-get-data": {
            /** Format: date-time */
            billing_start_timestamp: string;
            default_report_months: number;
            enabled: string;
            minimum_retention_months: number;
            queries_available: boolean;
            reporting_enabled: boolean;
            retention_months: number;
        } & {
            [key: string]: unknown;
        };
        "system-internal-counters-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-counters-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-state-sanitized-get-data": {
            [key: string]: unknown;
        };
        "system-config-state-sanitized-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-state-sanitized-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-replication-status-get-data": {
            mode: string;
        } & {
            [key: string]: unknown;
        };
        "system-replication-status-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-replication-status-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-experiments-get-data": {
            available_experiments: string[];
            enabled_experiments: string[];
        } & {
            [key: string]: unknown;
        };
        "system-experiments-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-experiments-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-get-data": {
            auth: string[];
            database: string[];
            secret: string[];
            detailed: ({
                name: string;
                type: string;
                builtin: boolean;
                version: string;
                deprecation_status: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-auth-search-data": {
            keys: string[];
            key_info?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-auth-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-auth-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-auth-name-get-data": {
            args: null;
            builtin: boolean;
            command: string;
            deprecation_status: string;
            name: string;
            sha256: string;
            version: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-auth-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-auth-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-database-search-data": {
            keys: string[];
            key_info?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-database-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-database-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-database-name-get-data": {
            args: null;
            builtin: boolean;
            command: string;
            deprecation_status: string;
            name: string;
            sha256: string;
            version: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-database-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-database-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-secret-search-data": {
            keys: string[];
            key_info?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-secret-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-secret-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-secret-name-get-data": {
            args: null;
            builtin: boolean;
            command: string;
            deprecation_status: string;
            name: string;
            sha256: string;
            version: string;
        } & {
            [key: string]: unknown;
        };
        "system-plugins-catalog-secret-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-plugins-catalog-secret-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-host-info-get-data": {
            cpu: ({
                cpu: number;
                cores: number;
                modelName: string;
                mhz: number;
            } & {
                [key: string]: unknown;
            })[];
            cpu_times: ({
                cpu: string;
                user: number;
                system: number;
                idle: number;
                nice: number;
                irq: number;
            } & {
                [key: string]: unknown;
            })[];
            disk: ({
                path: string;
                fstype: string;
                total: number;
                free: number;
                used: number;
                usedPercent: number;
                inodesTotal: number;
                inodesUsed: number;
                inodesFree: number;
                inodesUsedPercent: number;
            } & {
                [key: string]: unknown;
            })[];
            host: {
                hostname: string;
                uptime: number;
                bootTime: number;
                os: string;
                platform: string;
                kernelVersion: string;
                kernelArch: string;
            } & {
                [key: string]: unknown;
            };
            memory: {
                total: number;
                available: number;
                used: number;
                usedPercent: number;
            } & {
                [key: string]: unknown;
            };
            /** Format: date-time */
            timestamp: string;
        } & {
            [key: string]: unknown;
        };
        "system-host-info-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-host-info-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-loggers-get-data": {
            core: string;
        } & {
            [key: string]: unknown;
        };
        "system-loggers-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-loggers-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-loggers-post-input": {
            level: string;
        };
        "system-loggers-name-get-data": {
            core: string;
        } & {
            [key: string]: unknown;
        };
        "system-loggers-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-loggers-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-loggers-name-post-input": {
            level: string;
        };
        "system-config-cors-get-data": {
            enabled: boolean;
            allowed_origins?: string[];
            allowed_headers?: string[];
            allow_credentials?: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-config-cors-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-cors-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-cors-post-input": {
            allowed_origins: string[];
            allowed_headers?: string[];
            allow_credentials?: boolean;
        };
        "system-config-ui-headers-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-headers-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-headers-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-headers-header-get-data": {
            value?: string;
            values?: string[];
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-headers-header-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-headers-header-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-headers-header-post-input": {
            values: string[];
        };
        "system-config-ui-headers-header-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-audit-chain-get-data": {
            keys: ({
                key_id: string;
                public_key: string;
                created_time: string;
                retired_time: string;
            } & {
                [key: string]: unknown;
            })[];
            heads: ({
                device: string;
                replica: string;
                id: string;
                seq: number;
                hash: string;
                time: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-audit-chain-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-audit-chain-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-audit-get-data": {
            [key: string]: {
                path: string;
                type: string;
                description: string;
                options: {
                    [key: string]: string;
                };
                local: boolean;
            } & {
                [key: string]: unknown;
            };
        };
        "system-audit-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-audit-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-audit-path-get-data": {
            path?: string;
            deleted?: boolean;
            versions?: {
                [key: string]: unknown;
            }[];
        } & {
            [key: string]: unknown;
        };
        "system-audit-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-audit-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-audit-path-post-input": {
            type: string;
            description?: string;
            options?: {
                [key: string]: string;
            };
            local?: boolean;
        };
        "system-audit-hash-path-post-data": {
            hash: string;
        } & {
            [key: string]: unknown;
        };
        "system-audit-hash-path-post-input": {
            input: string;
        };
        "system-audit-hash-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-audit-hash-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-auditing-request-headers-get-data": {
            headers: {
                [key: string]: {
                    hmac: boolean;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "system-config-auditing-request-headers-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-auditing-request-headers-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-auditing-request-headers-header-get-data": {
            [key: string]: {
                hmac: boolean;
            } & {
                [key: string]: unknown;
            };
        };
        "system-config-auditing-request-headers-header-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-auditing-request-headers-header-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-auditing-request-headers-header-post-input": {
            hmac?: boolean;
        };
        "system-quotas-config-get-data": {
            rate_limit_exempt_paths: string[];
            absolute_rate_limit_exempt_paths: string[];
            enable_rate_limit_audit_logging: boolean;
            enable_rate_limit_response_headers: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-quotas-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-config-post-input": {
            rate_limit_exempt_paths?: string[];
            absolute_rate_limit_exempt_paths?: string[];
            enable_rate_limit_audit_logging?: boolean;
            enable_rate_limit_response_headers?: boolean;
        };
        "system-quotas-rate-limit-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-quotas-rate-limit-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-quotas-rate-limit-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-rate-limit-name-get-data": {
            type: string;
            name: string;
            path: string;
            role: string;
            rate: number;
            interval: number;
            block_interval: number;
            inheritable: boolean;
            /** @enum {string} */
            group_by: "ip" | "none";
            secondary_rate: number;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-rate-limit-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-quotas-rate-limit-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-rate-limit-name-post-input": {
            path?: string;
            role?: string;
            rate: number;
            interval?: string;
            block_interval?: string;
            group_by?: string;
            secondary_rate?: number;
            inheritable?: boolean;
        };
        "system-quotas-lease-count-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "system-quotas-lease-count-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-quotas-lease-count-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-lease-count-name-get-data": {
            type: string;
            name: string;
            path: string;
            role: string;
            max_leases: number;
            counter: number;
            inheritable: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-lease-count-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-quotas-lease-count-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-quotas-lease-count-name-post-input": {
            path?: string;
            role?: string;
            max_leases: number;
            inheritable?: boolean;
        };
        "system-internal-specs-openapi-get-data": {
            openapi: string;
            info: {
                [key: string]: unknown;
            };
            paths: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    title: string;
                    authenticated: boolean;
                    /** @enum {string} */
                    type: "banner" | "modal";
                    /** Format: date-time */
                    start_time: string;
                    /** Format: date-time */
                    end_time: string | null;
                    active: boolean;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-post-data": {
            title: string;
            authenticated: boolean;
            /** @enum {string} */
            type: "banner" | "modal";
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time: string | null;
            message: string;
            link?: ({
                title: string;
                href: string;
            } & {
                [key: string]: unknown;
            }) | null;
            options?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            severity?: "info" | "success" | "warning" | "critical";
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: string[];
            };
            /** @enum {string} */
            effect?: "read_only" | "no_new_credentials";
            schedule?: {
                cron: string;
                duration: number;
                time_zone: string;
            } & {
                [key: string]: unknown;
            };
            id: string;
            active: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-post-input": {
            title: string;
            authenticated?: boolean;
            type?: string;
            message: string;
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time?: string;
            link?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
            severity?: string;
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: unknown;
            };
            effect?: string;
            schedule?: {
                [key: string]: unknown;
            };
        };
        "system-config-ui-custom-messages-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-preview-post-data": {
            title: string;
            authenticated: boolean;
            /** @enum {string} */
            type: "banner" | "modal";
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time: string | null;
            message: string;
            link?: {
                [key: string]: string;
            } | null;
            options?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            severity?: "info" | "success" | "warning" | "critical";
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: string[];
            };
            /** @enum {string} */
            effect?: "read_only" | "no_new_credentials";
            schedule?: {
                cron: string;
                duration: number;
                time_zone: string;
            } & {
                [key: string]: unknown;
            };
            notice?: string;
            active?: boolean;
            windows?: ({
                /** Format: date-time */
                start_time: string;
                /** Format: date-time */
                end_time: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-preview-post-input": {
            title: string;
            authenticated?: boolean;
            type?: string;
            message: string;
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time?: string;
            link?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
            severity?: string;
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: unknown;
            };
            effect?: string;
            schedule?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            at?: string;
        };
        "system-config-ui-custom-messages-preview-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-preview-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-acks-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    /** Format: date-time */
                    acknowledged_time: string;
                    entity_name: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-acks-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-id-acks-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-get-data": {
            title: string;
            authenticated: boolean;
            /** @enum {string} */
            type: "banner" | "modal";
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time: string | null;
            message: string;
            link?: {
                [key: string]: string;
            } | null;
            options?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            severity?: "info" | "success" | "warning" | "critical";
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: string[];
            };
            /** @enum {string} */
            effect?: "read_only" | "no_new_credentials";
            schedule?: {
                cron: string;
                duration: number;
                time_zone: string;
            } & {
                [key: string]: unknown;
            };
            id: string;
            active: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-post-data": {
            title: string;
            authenticated: boolean;
            /** @enum {string} */
            type: "banner" | "modal";
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time: string | null;
            message: string;
            link?: {
                [key: string]: string;
            } | null;
            options?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            severity?: "info" | "success" | "warning" | "critical";
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: string[];
            };
            /** @enum {string} */
            effect?: "read_only" | "no_new_credentials";
            schedule?: {
                cron: string;
                duration: number;
                time_zone: string;
            } & {
                [key: string]: unknown;
            };
            id: string;
            active: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-post-input": {
            title: string;
            authenticated?: boolean;
            type?: string;
            message: string;
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time?: string;
            link?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
            severity?: string;
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: unknown;
            };
            effect?: string;
            schedule?: {
                [key: string]: unknown;
            };
        };
        "system-config-ui-custom-messages-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-patch-data": {
            title: string;
            authenticated: boolean;
            /** @enum {string} */
            type: "banner" | "modal";
            /** Format: date-time */
            start_time: string;
            /** Format: date-time */
            end_time: string | null;
            message: string;
            link?: {
                [key: string]: string;
            } | null;
            options?: {
                [key: string]: unknown;
            } | null;
            /** @enum {string} */
            severity?: "info" | "success" | "warning" | "critical";
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: string[];
            };
            /** @enum {string} */
            effect?: "read_only" | "no_new_credentials";
            schedule?: {
                cron: string;
                duration: number;
                time_zone: string;
            } & {
                [key: string]: unknown;
            };
            id: string;
            active: boolean;
        } & {
            [key: string]: unknown;
        };
        "system-config-ui-custom-messages-id-patch-input": {
            title?: string;
            authenticated?: boolean;
            type?: string;
            message?: string;
            /** Format: date-time */
            start_time?: string;
            /** Format: date-time */
            end_time?: string;
            link?: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
            severity?: string;
            priority?: number;
            dismissible?: boolean;
            acknowledge_required?: boolean;
            audience?: {
                [key: string]: unknown;
            };
            effect?: string;
            schedule?: {
                [key: string]: unknown;
            };
        };
        "system-config-ui-custom-messages-id-patch-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-config-ui-custom-messages-id-patch-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-unauthenticated-messages-get-data": ({
            keys: string[];
            key_info: {
                [key: string]: {
                    title: string;
                    authenticated: boolean;
                    /** @enum {string} */
                    type: "banner" | "modal";
                    /** Format: date-time */
                    start_time: string;
                    /** Format: date-time */
                    end_time: string | null;
                    message: string;
                    link?: {
                        [key: string]: string;
                    } | null;
                    options?: {
                        [key: string]: unknown;
                    } | null;
                    /** @enum {string} */
                    severity?: "info" | "success" | "warning" | "critical";
                    priority?: number;
                    dismissible?: boolean;
                    acknowledge_required?: boolean;
                    audience?: {
                        [key: string]: string[];
                    };
                    /** @enum {string} */
                    effect?: "read_only" | "no_new_credentials";
                    schedule?: {
                        cron: string;
                        duration: number;
                        time_zone: string;
                    } & {
                        [key: string]: unknown;
                    };
                    notice?: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        }) | {
            [key: string]: unknown;
        };
        "system-internal-ui-unauthenticated-messages-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-unauthenticated-messages-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-authenticated-messages-get-data": ({
            keys: string[];
            key_info: {
                [key: string]: {
                    title: string;
                    authenticated: boolean;
                    /** @enum {string} */
                    type: "banner" | "modal";
                    /** Format: date-time */
                    start_time: string;
                    /** Format: date-time */
                    end_time: string | null;
                    message: string;
                    link?: {
                        [key: string]: string;
                    } | null;
                    options?: {
                        [key: string]: unknown;
                    } | null;
                    /** @enum {string} */
                    severity?: "info" | "success" | "warning" | "critical";
                    priority?: number;
                    dismissible?: boolean;
                    acknowledge_required?: boolean;
                    audience?: {
                        [key: string]: string[];
                    };
                    /** @enum {string} */
                    effect?: "read_only" | "no_new_credentials";
                    schedule?: {
                        cron: string;
                        duration: number;
                        time_zone: string;
                    } & {
                        [key: string]: unknown;
                    };
                    notice?: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        }) | {
            [key: string]: unknown;
        };
        "system-internal-ui-authenticated-messages-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["system-internal-ui-authenticated-messages-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "system-internal-ui-authenticated-messages-id-ack-post-input": {
            [key: string]: unknown;
        };
        "token-create-post-input": {
            id?: string;
            policies?: string[];
            meta?: {
                [key: string]: string;
            };
            no_parent?: boolean;
            no_default_policy?: boolean;
            renewable?: boolean;
            ttl?: string;
            lease?: string;
            type?: string;
            explicit_max_ttl?: string;
            period?: string;
            display_name?: string;
            num_uses?: number;
            entity_alias?: string;
        };
        "token-create-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-create-orphan-post-input": {
            id?: string;
            policies?: string[];
            meta?: {
                [key: string]: string;
            };
            no_parent?: boolean;
            no_default_policy?: boolean;
            renewable?: boolean;
            ttl?: string;
            lease?: string;
            type?: string;
            explicit_max_ttl?: string;
            period?: string;
            display_name?: string;
            num_uses?: number;
            entity_alias?: string;
        };
        "token-create-orphan-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-create-role_name-post-input": {
            id?: string;
            policies?: string[];
            meta?: {
                [key: string]: string;
            };
            no_parent?: boolean;
            no_default_policy?: boolean;
            renewable?: boolean;
            ttl?: string;
            lease?: string;
            type?: string;
            explicit_max_ttl?: string;
            period?: string;
            display_name?: string;
            num_uses?: number;
            entity_alias?: string;
        };
        "token-create-role_name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-get-data": {
            id: string;
            accessor: string;
            policies: string[];
            path: string;
            meta?: {
                [key: string]: string;
            } | null;
            display_name: string;
            num_uses: number;
            orphan: boolean;
            creation_time: number;
            creation_ttl: number;
            /** Format: date-time */
            expire_time: string | null;
            ttl: number;
            explicit_max_ttl: number;
            entity_id: string;
            /** @enum {string} */
            type: "service" | "batch";
            role?: string;
            period?: number;
            bound_cidrs?: string[];
            login_metadata?: {
                [key: string]: string;
            };
            login_accessor?: string;
            /** Format: date-time */
            issue_time?: string;
            renewable?: boolean;
            /** Format: date-time */
            last_renewal?: string;
            last_renewal_time?: number;
            identity_policies?: string[];
            external_namespace_policies?: {
                [key: string]: string[];
            };
            namespace_path?: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-lookup-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-post-data": {
            id: string;
            accessor: string;
            policies: string[];
            path: string;
            meta?: {
                [key: string]: string;
            } | null;
            display_name: string;
            num_uses: number;
            orphan: boolean;
            creation_time: number;
            creation_ttl: number;
            /** Format: date-time */
            expire_time: string | null;
            ttl: number;
            explicit_max_ttl: number;
            entity_id: string;
            /** @enum {string} */
            type: "service" | "batch";
            role?: string;
            period?: number;
            bound_cidrs?: string[];
            login_metadata?: {
                [key: string]: string;
            };
            login_accessor?: string;
            /** Format: date-time */
            issue_time?: string;
            renewable?: boolean;
            /** Format: date-time */
            last_renewal?: string;
            last_renewal_time?: number;
            identity_policies?: string[];
            external_namespace_policies?: {
                [key: string]: string[];
            };
            namespace_path?: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-post-input": {
            token?: string;
        };
        "token-lookup-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-lookup-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-self-get-data": {
            id: string;
            accessor: string;
            policies: string[];
            path: string;
            meta?: {
                [key: string]: string;
            } | null;
            display_name: string;
            num_uses: number;
            orphan: boolean;
            creation_time: number;
            creation_ttl: number;
            /** Format: date-time */
            expire_time: string | null;
            ttl: number;
            explicit_max_ttl: number;
            entity_id: string;
            /** @enum {string} */
            type: "service" | "batch";
            role?: string;
            period?: number;
            bound_cidrs?: string[];
            login_metadata?: {
                [key: string]: string;
            };
            login_accessor?: string;
            /** Format: date-time */
            issue_time?: string;
            renewable?: boolean;
            /** Format: date-time */
            last_renewal?: string;
            last_renewal_time?: number;
            identity_policies?: string[];
            external_namespace_policies?: {
                [key: string]: string[];
            };
            namespace_path?: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-self-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-lookup-self-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-self-post-data": {
            id: string;
            accessor: string;
            policies: string[];
            path: string;
            meta?: {
                [key: string]: string;
            } | null;
            display_name: string;
            num_uses: number;
            orphan: boolean;
            creation_time: number;
            creation_ttl: number;
            /** Format: date-time */
            expire_time: string | null;
            ttl: number;
            explicit_max_ttl: number;
            entity_id: string;
            /** @enum {string} */
            type: "service" | "batch";
            role?: string;
            period?: number;
            bound_cidrs?: string[];
            login_metadata?: {
                [key: string]: string;
            };
            login_accessor?: string;
            /** Format: date-time */
            issue_time?: string;
            renewable?: boolean;
            /** Format: date-time */
            last_renewal?: string;
            last_renewal_time?: number;
            identity_policies?: string[];
            external_namespace_policies?: {
                [key: string]: string[];
            };
            namespace_path?: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-self-post-input": {
            token?: string;
        };
        "token-lookup-self-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-lookup-self-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-accessor-post-data": {
            id: string;
            accessor: string;
            policies: string[];
            path: string;
            meta?: {
                [key: string]: string;
            } | null;
            display_name: string;
            num_uses: number;
            orphan: boolean;
            creation_time: number;
            creation_ttl: number;
            /** Format: date-time */
            expire_time: string | null;
            ttl: number;
            explicit_max_ttl: number;
            entity_id: string;
            /** @enum {string} */
            type: "service" | "batch";
            role?: string;
            period?: number;
            bound_cidrs?: string[];
            login_metadata?: {
                [key: string]: string;
            };
            login_accessor?: string;
            /** Format: date-time */
            issue_time?: string;
            renewable?: boolean;
            /** Format: date-time */
            last_renewal?: string;
            last_renewal_time?: number;
            identity_policies?: string[];
            external_namespace_policies?: {
                [key: string]: string[];
            };
            namespace_path?: string;
        } & {
            [key: string]: unknown;
        };
        "token-lookup-accessor-post-input": {
            accessor: string;
        };
        "token-lookup-accessor-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-lookup-accessor-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-renew-post-input": {
            token: string;
            increment?: string;
        };
        "token-renew-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-renew-self-post-input": {
            token?: string;
            increment?: string;
        };
        "token-renew-self-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-renew-accessor-post-input": {
            accessor: string;
            increment?: string;
        };
        "token-renew-accessor-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-revoke-post-input": {
            token: string;
        };
        "token-revoke-self-post-input": {
            token?: string;
        };
        "token-revoke-accessor-post-input": {
            accessor: string;
        };
        "token-revoke-accessor-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-revoke-orphan-post-input": {
            token: string;
        };
        "token-roles-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "token-roles-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-roles-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-roles-role_name-get-data": {
            name: string;
            allowed_policies: string[];
            disallowed_policies: string[];
            allowed_policies_glob: string[];
            disallowed_policies_glob: string[];
            orphan: boolean;
            renewable: boolean;
            path_suffix: string;
            token_type: string;
            allowed_entity_aliases: string[] | null;
            period: number;
            token_period: number;
            explicit_max_ttl: number;
            token_explicit_max_ttl: number;
            token_no_default_policy: boolean;
            token_bound_cidrs?: string[];
            bound_cidrs?: string[];
            token_num_uses?: number;
        } & {
            [key: string]: unknown;
        };
        "token-roles-role_name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-roles-role_name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-roles-role_name-post-input": {
            allowed_policies?: string[];
            disallowed_policies?: string[];
            allowed_policies_glob?: string[];
            disallowed_policies_glob?: string[];
            orphan?: boolean;
            renewable?: boolean;
            path_suffix?: string;
            allowed_entity_aliases?: string[];
            token_bound_cidrs?: string[];
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_type?: string;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            /** @deprecated */
            period?: string;
            /** @deprecated */
            explicit_max_ttl?: string;
            /** @deprecated */
            bound_cidrs?: string[];
        };
        "token-roles-role_name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-accessors-search-data": {
            keys: string[];
            tokens?: ({
                accessor: string;
                display_name: string;
                path: string;
                policies: string[];
                entity_id: string;
                orphan: boolean;
                creation_time: number;
                /** Format: date-time */
                expire_time: string | null;
                ttl: number;
                num_uses: number;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "token-accessors-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["token-accessors-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "token-tidy-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-post-data": {
            id: string;
            name: string;
            aliases: null;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-post-input": {
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            disabled?: boolean;
            id?: string;
            name?: string;
        };
        "identity-entity-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    name: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-id-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-id-get-data": {
            id: string;
            name: string;
            metadata?: {
                [key: string]: string;
            } | null;
            policies: string[];
            disabled: boolean;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
            merged_entity_ids: string[] | null;
            aliases: ({
                id: string;
                name: string;
                mount_accessor: string;
            } & {
                [key: string]: unknown;
            })[];
            group_ids: string[];
            direct_group_ids: string[];
            inherited_group_ids: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-id-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-id-post-data": {
            id: string;
            name: string;
            aliases: null;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-id-id-post-input": {
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            disabled?: boolean;
            name?: string;
        };
        "identity-entity-id-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-id-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-name-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-name-get-data": {
            id: string;
            name: string;
            metadata?: {
                [key: string]: string;
            } | null;
            policies: string[];
            disabled: boolean;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
            merged_entity_ids: string[] | null;
            aliases: ({
                id: string;
                name: string;
                mount_accessor: string;
            } & {
                [key: string]: unknown;
            })[];
            group_ids: string[];
            direct_group_ids: string[];
            inherited_group_ids: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-name-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-name-post-data": {
            id: string;
            name: string;
            aliases: null;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-name-name-post-input": {
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            disabled?: boolean;
        };
        "identity-entity-name-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-name-name-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-batch-delete-post-input": {
            entity_ids: string[];
        };
        "identity-entity-alias-post-data": {
            id: string;
            canonical_id: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-post-input": {
            name?: string;
            mount_accessor?: string;
            canonical_id?: string;
            entity_id?: string;
            custom_metadata?: {
                [key: string]: string;
            };
            id?: string;
        };
        "identity-entity-alias-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-alias-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    name: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-alias-id-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-id-get-data": {
            id: string;
            canonical_id: string;
            mount_accessor: string;
            mount_type?: string;
            mount_path?: string;
            name: string;
            metadata?: {
                [key: string]: string;
            } | null;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            merged_from_canonical_ids: string[] | null;
            namespace_id: string;
            local: boolean;
            creation_time: string;
            last_update_time: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-alias-id-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-id-post-data": {
            id: string;
            canonical_id: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-alias-id-id-post-input": {
            name?: string;
            mount_accessor?: string;
            canonical_id?: string;
            entity_id?: string;
            custom_metadata?: {
                [key: string]: string;
            };
        };
        "identity-entity-alias-id-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-entity-alias-id-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-post-data": {
            id: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-post-input": {
            type?: string;
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            member_entity_ids?: string[];
            member_group_ids?: string[];
            name?: string;
            id?: string;
        };
        "identity-group-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-id-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    name: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "identity-group-id-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-id-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-id-id-get-data": {
            id: string;
            name: string;
            /** @enum {string} */
            type: "internal" | "external";
            policies: string[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            member_entity_ids: string[] | null;
            member_group_ids: string[] | null;
            parent_group_ids: string[] | null;
            alias: {
                [key: string]: unknown;
            };
            modify_index: number;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-id-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-id-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-id-id-post-input": {
            type?: string;
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            member_entity_ids?: string[];
            member_group_ids?: string[];
            name?: string;
        };
        "identity-group-name-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-group-name-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-name-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-name-name-get-data": {
            id: string;
            name: string;
            /** @enum {string} */
            type: "internal" | "external";
            policies: string[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            member_entity_ids: string[] | null;
            member_group_ids: string[] | null;
            parent_group_ids: string[] | null;
            alias: {
                [key: string]: unknown;
            };
            modify_index: number;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-name-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-name-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-name-name-post-data": {
            id: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-name-name-post-input": {
            type?: string;
            metadata?: {
                [key: string]: string;
            };
            policies?: string[];
            member_entity_ids?: string[];
            member_group_ids?: string[];
        };
        "identity-group-name-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-name-name-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-post-data": {
            id: string;
            canonical_id: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-post-input": {
            name?: string;
            mount_accessor?: string;
            canonical_id?: string;
            id?: string;
        };
        "identity-group-alias-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-alias-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-search-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    name: string;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-alias-id-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-id-get-data": {
            id: string;
            canonical_id: string;
            mount_accessor: string;
            mount_type?: string;
            mount_path?: string;
            name: string;
            metadata?: {
                [key: string]: string;
            } | null;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            merged_from_canonical_ids: string[] | null;
            namespace_id: string;
            local: boolean;
            creation_time: string;
            last_update_time: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-alias-id-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-id-post-data": {
            id: string;
            canonical_id: string;
        } & {
            [key: string]: unknown;
        };
        "identity-group-alias-id-id-post-input": {
            name?: string;
            mount_accessor?: string;
            canonical_id?: string;
        };
        "identity-group-alias-id-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-group-alias-id-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-lookup-entity-post-data": {
            id: string;
            name: string;
            metadata?: {
                [key: string]: string;
            } | null;
            policies: string[];
            disabled: boolean;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
            merged_entity_ids: string[] | null;
            aliases: ({
                id: string;
                name: string;
                mount_accessor: string;
            } & {
                [key: string]: unknown;
            })[];
            group_ids: string[];
            direct_group_ids: string[];
            inherited_group_ids: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-lookup-entity-post-input": {
            id?: string;
            name?: string;
            alias_id?: string;
            alias_name?: string;
            alias_mount_accessor?: string;
        };
        "identity-lookup-entity-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-lookup-entity-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-lookup-group-post-data": {
            id: string;
            name: string;
            /** @enum {string} */
            type: "internal" | "external";
            policies: string[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            member_entity_ids: string[] | null;
            member_group_ids: string[] | null;
            parent_group_ids: string[] | null;
            alias: {
                [key: string]: unknown;
            };
            modify_index: number;
            namespace_id: string;
            creation_time: string;
            last_update_time: string;
        } & {
            [key: string]: unknown;
        };
        "identity-lookup-group-post-input": {
            id?: string;
            name?: string;
            alias_id?: string;
            alias_name?: string;
            alias_mount_accessor?: string;
        };
        "identity-lookup-group-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-lookup-group-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-entity-merge-post-input": {
            to_entity_id: string;
            from_entity_ids: string[];
            force?: boolean;
            conflicting_alias_ids_to_keep?: string[];
        };
        "identity-tidy-post-data": {
            count: number;
            dry_run: boolean;
            sample: ({
                id: string;
                name: string;
                last_login_day: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "identity-tidy-post-input": {
            unused_for?: string;
            dry_run?: boolean;
            limit?: number;
        };
        "identity-tidy-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-tidy-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-config-get-data": {
            issuer: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-config-post-input": {
            issuer?: string;
        };
        "identity-oidc-config-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-key-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-key-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-key-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-key-name-get-data": {
            algorithm: string;
            rotation_period: number;
            verification_ttl: number;
            allowed_client_ids: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-key-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-key-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-key-name-post-input": {
            algorithm?: string;
            rotation_period?: string;
            verification_ttl?: string;
            allowed_client_ids?: string[];
        };
        "identity-oidc-key-name-rotate-post-input": {
            verification_ttl?: string;
        };
        "identity-oidc-role-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-role-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-role-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-role-name-get-data": {
            key: string;
            ttl: number;
            template: string;
            client_id: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-role-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-role-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-role-name-post-input": {
            key?: string;
            ttl?: string;
            template?: string;
            client_id?: string;
        };
        "identity-oidc-well-known-openid-configuration-get-data": {
            issuer: string;
            jwks_uri: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-well-known-keys-get-data": {
            keys: ({
                kty: string;
                kid: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-plugins-well-known-openid-configuration-get-data": {
            issuer: string;
            jwks_uri: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-plugins-well-known-keys-get-data": {
            keys: ({
                kty: string;
                kid: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-token-name-get-data": {
            token: string;
            client_id: string;
            ttl: number;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-token-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["identity-oidc-token-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-introspect-post-data": {
            active: boolean;
            error?: string;
        } & {
            [key: string]: unknown;
        };
        "identity-oidc-introspect-post-input": {
            token?: string;
            client_id?: string;
        };
        "cubbyhole-path-get-data": {
            [key: string]: unknown;
        };
        "cubbyhole-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cubbyhole-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cubbyhole-path-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "cubbyhole-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cubbyhole-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cubbyhole-path-post-input": {
            [key: string]: unknown;
        };
        "cloud-config-get-data": {
            subscription_id?: string;
            tenant_id?: string;
            environment?: string;
            client_id?: string;
            root_password_ttl?: number;
            identity_token_audience?: string;
            identity_token_ttl?: number;
            rotation_schedule?: string;
            rotation_window?: number;
            rotation_period?: number;
            rotation_policy?: string;
            disable_automated_rotation?: boolean;
            auth_type?: string;
            managed_identity_client_id?: string;
            root_application_object_id?: string;
            root_password_expiration_date?: string;
            client_certificate_thumbprint?: string;
            client_certificate_expiration?: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-post-input": {
            subscription_id?: string;
            tenant_id?: string;
            environment?: string;
            client_id?: string;
            client_secret?: string;
            root_password_ttl?: string;
            identity_token_audience?: string;
            identity_token_ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            rotation_period?: string;
            rotation_policy?: string;
            disable_automated_rotation?: boolean;
            auth_type?: string;
            client_certificate?: string;
            client_certificate_password?: string;
            managed_identity_client_id?: string;
            root_application_object_id?: string;
        };
        "cloud-config-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-identity-get-data": {
            auth_type: string;
            issuer: string;
            subject: string;
            role_subject: string;
            audience: string;
            jwks_uri: string;
            client_id: string;
            commands: string[];
        } & {
            [key: string]: unknown;
        };
        "cloud-config-identity-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-config-identity-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-certificate-get-data": {
            certificate: string;
            thumbprint: string;
            thumbprint_sha256: string;
            expiration: string;
            command: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-certificate-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-config-certificate-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-certificate-post-data": {
            certificate: string;
            thumbprint: string;
            thumbprint_sha256: string;
            expiration: string;
            command: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-certificate-post-input": {
            ttl?: string;
        };
        "cloud-config-certificate-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-config-certificate-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-rotate-root-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-roles-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "cloud-roles-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-roles-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-roles-name-get-data": {
            application_object_id: string;
            cloud_groups: ({
                group_name: string;
                object_id: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            cloud_roles: ({
                role_name: string;
                role_id: string;
                scope: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            cloud_app_roles?: ({
                app_id: string;
                resource_id: string;
                role_name: string;
                role_id: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            explicit_max_ttl: number;
            max_ttl: number;
            permanently_delete: boolean;
            persist_app: boolean;
            sign_in_audience: string;
            tags: string[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            ttl: number;
            credential_type?: string;
            federated_client_id?: string;
            allowed_scopes?: string[];
            pool?: number;
        } & {
            [key: string]: unknown;
        };
        "cloud-roles-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-roles-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-roles-name-post-input": {
            application_object_id?: string;
            persist_app?: boolean;
            ttl?: string;
            max_ttl?: string;
            explicit_max_ttl?: string;
            permanently_delete?: boolean;
            sign_in_audience?: string;
            tags?: string[];
            metadata?: {
                [key: string]: string;
            };
            credential_type?: string;
            federated_client_id?: string;
            allowed_scopes?: string[];
            pool?: number;
            cloud_roles?: string;
            cloud_groups?: string;
            cloud_app_roles?: string;
        };
        "cloud-roles-name-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-creds-name-get-data": {
            client_id: string;
            client_secret?: string;
            tenant_id?: string;
            certificate?: string;
            private_key?: string;
            certificate_expiration?: string;
            client_assertion?: string;
            client_assertion_type?: string;
            token_endpoint?: string;
            expires_in?: number;
        } & {
            [key: string]: unknown;
        };
        "cloud-creds-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-creds-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-config-check-get-data": {
            ok: boolean;
            checks: ({
                name: string;
                ok: boolean;
                detail: string;
                fix: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "cloud-config-check-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-config-check-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-whois-client_id-get-data": {
            lease_id: string;
            role: string;
            entity_id: string;
            display_name: string;
            issue_time: string;
            expire_time: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-whois-client_id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-whois-client_id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-debris-get-data": {
            objects: ({
                kind: string;
                id: string;
                name: string;
                since: string;
                tries: number;
                error: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "cloud-debris-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-debris-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-reap-post-data": {
            objects: ({
                kind: string;
                id: string;
                name: string;
                created: string | null;
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            deleted: number;
        } & {
            [key: string]: unknown;
        };
        "cloud-reap-post-input": {
            dry_run?: boolean;
        };
        "cloud-reap-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-reap-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-pool-get-data": {
            idle: number;
            wanted: number;
            roles: ({
                role: string;
                size: number;
                ready: number;
                oldest: string | null;
                error: string;
                retry_at: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "cloud-pool-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-pool-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-token-name-get-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-token-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-token-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-token-name-post-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-token-name-post-input": {
            scope?: string;
            fresh?: boolean;
        };
        "cloud-token-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-token-name-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-static-roles-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-name-get-data": {
            allowed_scopes: string[];
            application_object_id: string;
            disable_automated_rotation: boolean;
            last_error: string;
            last_vault_rotation: string;
            metadata?: {
                [key: string]: string;
            } | null;
            next_vault_rotation: string;
            rotation_grace_period: number;
            rotation_period: number;
            rotation_schedule: string;
            rotation_window: number;
            seamless_rotation: boolean;
            ttl: number;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-static-roles-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-name-post-input": {
            application_object_id?: string;
            rotation_period?: string;
            ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            disable_automated_rotation?: boolean;
            rotation_grace_period?: string;
            seamless_rotation?: boolean;
            metadata?: {
                [key: string]: string;
            };
            allowed_scopes?: string[];
            defer_initial_creds?: boolean;
            skip_import_rotation?: boolean;
            secret_id?: string;
            client_secret?: string;
            /** Format: date-time */
            expiration?: string;
        };
        "cloud-static-roles-name-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-roles-name-import-post-input": {
            application_object_id?: string;
            rotation_period?: string;
            ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            disable_automated_rotation?: boolean;
            rotation_grace_period?: string;
            seamless_rotation?: boolean;
            metadata?: {
                [key: string]: string;
            };
            allowed_scopes?: string[];
            defer_initial_creds?: boolean;
            skip_import_rotation?: boolean;
            secret_id?: string;
            client_secret?: string;
            /** Format: date-time */
            expiration?: string;
        };
        "cloud-static-creds-name-get-data": {
            client_id: string;
            client_secret: string;
            secret_id: string;
            expiration: string;
            metadata: {
                [key: string]: string;
            };
            ttl: number;
            last_vault_rotation: string;
            previous_secret_id?: string;
            previous_expiration?: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-creds-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-static-creds-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-creds-name-token-post-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "cloud-static-creds-name-token-post-input": {
            scope?: string;
            fresh?: boolean;
        };
        "cloud-static-creds-name-token-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["cloud-static-creds-name-token-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-get-data": {
            subscription_id?: string;
            tenant_id?: string;
            environment?: string;
            client_id?: string;
            root_password_ttl?: number;
            identity_token_audience?: string;
            identity_token_ttl?: number;
            rotation_schedule?: string;
            rotation_window?: number;
            rotation_period?: number;
            rotation_policy?: string;
            disable_automated_rotation?: boolean;
            auth_type?: string;
            managed_identity_client_id?: string;
            root_application_object_id?: string;
            root_password_expiration_date?: string;
            client_certificate_thumbprint?: string;
            client_certificate_expiration?: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-post-input": {
            subscription_id?: string;
            tenant_id?: string;
            environment?: string;
            client_id?: string;
            client_secret?: string;
            root_password_ttl?: string;
            identity_token_audience?: string;
            identity_token_ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            rotation_period?: string;
            rotation_policy?: string;
            disable_automated_rotation?: boolean;
            auth_type?: string;
            client_certificate?: string;
            client_certificate_password?: string;
            managed_identity_client_id?: string;
            root_application_object_id?: string;
        };
        "azure-config-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-identity-get-data": {
            auth_type: string;
            issuer: string;
            subject: string;
            role_subject: string;
            audience: string;
            jwks_uri: string;
            client_id: string;
            commands: string[];
        } & {
            [key: string]: unknown;
        };
        "azure-config-identity-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-config-identity-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-certificate-get-data": {
            certificate: string;
            thumbprint: string;
            thumbprint_sha256: string;
            expiration: string;
            command: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-certificate-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-config-certificate-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-certificate-post-data": {
            certificate: string;
            thumbprint: string;
            thumbprint_sha256: string;
            expiration: string;
            command: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-certificate-post-input": {
            ttl?: string;
        };
        "azure-config-certificate-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-config-certificate-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-rotate-root-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-roles-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "azure-roles-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-roles-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-roles-name-get-data": {
            application_object_id: string;
            azure_groups: ({
                group_name: string;
                object_id: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            azure_roles: ({
                role_name: string;
                role_id: string;
                scope: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            azure_app_roles?: ({
                app_id: string;
                resource_id: string;
                role_name: string;
                role_id: string;
            } & {
                [key: string]: unknown;
            })[] | null;
            explicit_max_ttl: number;
            max_ttl: number;
            permanently_delete: boolean;
            persist_app: boolean;
            sign_in_audience: string;
            tags: string[] | null;
            metadata?: {
                [key: string]: string;
            } | null;
            ttl: number;
            credential_type?: string;
            federated_client_id?: string;
            allowed_scopes?: string[];
            pool?: number;
        } & {
            [key: string]: unknown;
        };
        "azure-roles-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-roles-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-roles-name-post-input": {
            application_object_id?: string;
            persist_app?: boolean;
            ttl?: string;
            max_ttl?: string;
            explicit_max_ttl?: string;
            permanently_delete?: boolean;
            sign_in_audience?: string;
            tags?: string[];
            metadata?: {
                [key: string]: string;
            };
            credential_type?: string;
            federated_client_id?: string;
            allowed_scopes?: string[];
            pool?: number;
            azure_roles?: string;
            azure_groups?: string;
            azure_app_roles?: string;
        };
        "azure-roles-name-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-creds-name-get-data": {
            client_id: string;
            client_secret?: string;
            tenant_id?: string;
            certificate?: string;
            private_key?: string;
            certificate_expiration?: string;
            client_assertion?: string;
            client_assertion_type?: string;
            token_endpoint?: string;
            expires_in?: number;
        } & {
            [key: string]: unknown;
        };
        "azure-creds-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-creds-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-config-check-get-data": {
            ok: boolean;
            checks: ({
                name: string;
                ok: boolean;
                detail: string;
                fix: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "azure-config-check-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-config-check-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-whois-client_id-get-data": {
            lease_id: string;
            role: string;
            entity_id: string;
            display_name: string;
            issue_time: string;
            expire_time: string;
        } & {
            [key: string]: unknown;
        };
        "azure-whois-client_id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-whois-client_id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-debris-get-data": {
            objects: ({
                kind: string;
                id: string;
                name: string;
                since: string;
                tries: number;
                error: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "azure-debris-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-debris-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-reap-post-data": {
            objects: ({
                kind: string;
                id: string;
                name: string;
                created: string | null;
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            deleted: number;
        } & {
            [key: string]: unknown;
        };
        "azure-reap-post-input": {
            dry_run?: boolean;
        };
        "azure-reap-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-reap-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-pool-get-data": {
            idle: number;
            wanted: number;
            roles: ({
                role: string;
                size: number;
                ready: number;
                oldest: string | null;
                error: string;
                retry_at: string | null;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "azure-pool-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-pool-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-token-name-get-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "azure-token-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-token-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-token-name-post-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "azure-token-name-post-input": {
            scope?: string;
            fresh?: boolean;
        };
        "azure-token-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-token-name-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-static-roles-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-name-get-data": {
            allowed_scopes: string[];
            application_object_id: string;
            disable_automated_rotation: boolean;
            last_error: string;
            last_vault_rotation: string;
            metadata?: {
                [key: string]: string;
            } | null;
            next_vault_rotation: string;
            rotation_grace_period: number;
            rotation_period: number;
            rotation_schedule: string;
            rotation_window: number;
            seamless_rotation: boolean;
            ttl: number;
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-static-roles-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-name-post-input": {
            application_object_id?: string;
            rotation_period?: string;
            ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            disable_automated_rotation?: boolean;
            rotation_grace_period?: string;
            seamless_rotation?: boolean;
            metadata?: {
                [key: string]: string;
            };
            allowed_scopes?: string[];
            defer_initial_creds?: boolean;
            skip_import_rotation?: boolean;
            secret_id?: string;
            client_secret?: string;
            /** Format: date-time */
            expiration?: string;
        };
        "azure-static-roles-name-delete-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-roles-name-import-post-input": {
            application_object_id?: string;
            rotation_period?: string;
            ttl?: string;
            rotation_schedule?: string;
            rotation_window?: string;
            disable_automated_rotation?: boolean;
            rotation_grace_period?: string;
            seamless_rotation?: boolean;
            metadata?: {
                [key: string]: string;
            };
            allowed_scopes?: string[];
            defer_initial_creds?: boolean;
            skip_import_rotation?: boolean;
            secret_id?: string;
            client_secret?: string;
            /** Format: date-time */
            expiration?: string;
        };
        "azure-static-creds-name-get-data": {
            client_id: string;
            client_secret: string;
            secret_id: string;
            expiration: string;
            metadata: {
                [key: string]: string;
            };
            ttl: number;
            last_vault_rotation: string;
            previous_secret_id?: string;
            previous_expiration?: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-creds-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-static-creds-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-creds-name-token-post-data": {
            token_type: string;
            expires_in: number;
            ext_expires_in: number;
            access_token: string;
        } & {
            [key: string]: unknown;
        };
        "azure-static-creds-name-token-post-input": {
            scope?: string;
            fresh?: boolean;
        };
        "azure-static-creds-name-token-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["azure-static-creds-name-token-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-path-get-data": {
            [key: string]: unknown;
        };
        "kv-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-path-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "kv-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-path-post-input": {
            [key: string]: unknown;
        };
        "kv-v2-config-get-data": {
            cas_required: boolean;
            delete_version_after: string;
            effective_max_versions: number;
            max_versions: number;
            metadata_cas_required: boolean;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-config-post-input": {
            max_versions?: number;
            cas_required?: boolean;
            metadata_cas_required?: boolean;
            delete_version_after?: string;
        };
        "kv-v2-delete-path-post-input": {
            versions: number[];
        };
        "kv-v2-undelete-path-post-input": {
            versions: number[];
        };
        "kv-v2-destroy-path-post-input": {
            versions: number[];
        };
        "kv-v2-data-path-get-data": {
            data?: {
                [key: string]: unknown;
            } | null;
            metadata: {
                /** Format: date-time */
                created_time: string;
                custom_metadata?: {
                    [key: string]: string;
                } | null;
                deletion_time: string;
                destroyed: boolean;
                version: number;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "kv-v2-data-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-data-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-data-path-post-data": {
            /** Format: date-time */
            created_time: string;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            deletion_time: string;
            destroyed: boolean;
            version: number;
            generated?: string[];
        } & {
            [key: string]: unknown;
        };
        "kv-v2-data-path-post-input": {
            version?: number;
            data: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
        };
        "kv-v2-data-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-data-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-data-path-patch-data": {
            /** Format: date-time */
            created_time: string;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            deletion_time: string;
            destroyed: boolean;
            version: number;
            generated?: string[];
        } & {
            [key: string]: unknown;
        };
        "kv-v2-data-path-patch-input": {
            version?: number;
            data: {
                [key: string]: unknown;
            };
            options?: {
                [key: string]: unknown;
            };
        };
        "kv-v2-data-path-patch-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-data-path-patch-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-subkeys-path-get-data": {
            subkeys?: {
                [key: string]: unknown;
            } | null;
            metadata: {
                /** Format: date-time */
                created_time: string;
                custom_metadata?: {
                    [key: string]: string;
                } | null;
                deletion_time: string;
                destroyed: boolean;
                version: number;
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "kv-v2-subkeys-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-subkeys-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-get-data": {
            cas_required: boolean;
            /** Format: date-time */
            created_time: string;
            current_metadata_version: number;
            current_version: number;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            delete_version_after: string;
            effective_delete_version_after: string;
            effective_max_versions: number;
            last_updated_by: {
                actor: string;
                client_id: string;
                entity_id: string;
                operation: string;
            } & {
                [key: string]: unknown;
            };
            max_versions: number;
            metadata_cas_required: boolean;
            oldest_version: number;
            /** Format: date-time */
            updated_time: string;
            versions: {
                [key: string]: {
                    created_by: {
                        actor: string;
                        client_id: string;
                        entity_id: string;
                        operation: string;
                    } & {
                        [key: string]: unknown;
                    };
                    /** Format: date-time */
                    created_time: string;
                    deleted_by?: ({
                        actor: string;
                        client_id: string;
                        entity_id: string;
                        operation: string;
                    } & {
                        [key: string]: unknown;
                    }) | null;
                    deletion_time: string;
                    destroyed: boolean;
                } & {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-metadata-path-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-metadata-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-post-input": {
            max_versions?: number;
            cas_required?: boolean;
            delete_version_after?: string;
            custom_metadata?: {
                [key: string]: unknown;
            };
            metadata_cas_required?: boolean;
            metadata_cas?: number;
        };
        "kv-v2-metadata-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-metadata-path-patch-input": {
            max_versions?: number;
            cas_required?: boolean;
            delete_version_after?: string;
            custom_metadata?: {
                [key: string]: unknown;
            };
            metadata_cas_required?: boolean;
            metadata_cas?: number;
        };
        "kv-v2-metadata-path-patch-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-detailed-metadata-path-search-data": {
            keys: string[];
            key_info: {
                [key: string]: ({
                    cas_required: boolean;
                    /** Format: date-time */
                    created_time: string;
                    current_metadata_version: number;
                    current_version: number;
                    custom_metadata?: {
                        [key: string]: string;
                    } | null;
                    delete_version_after: string;
                    effective_delete_version_after: string;
                    effective_max_versions: number;
                    last_updated_by: {
                        actor: string;
                        client_id: string;
                        entity_id: string;
                        operation: string;
                    } & {
                        [key: string]: unknown;
                    };
                    max_versions: number;
                    metadata_cas_required: boolean;
                    oldest_version: number;
                    /** Format: date-time */
                    updated_time: string;
                    versions: {
                        [key: string]: {
                            created_by: {
                                actor: string;
                                client_id: string;
                                entity_id: string;
                                operation: string;
                            } & {
                                [key: string]: unknown;
                            };
                            /** Format: date-time */
                            created_time: string;
                            deleted_by?: ({
                                actor: string;
                                client_id: string;
                                entity_id: string;
                                operation: string;
                            } & {
                                [key: string]: unknown;
                            }) | null;
                            deletion_time: string;
                            destroyed: boolean;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                } & {
                    [key: string]: unknown;
                }) | {
                    [key: string]: unknown;
                };
            };
        } & {
            [key: string]: unknown;
        };
        "kv-v2-detailed-metadata-path-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-detailed-metadata-path-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-restore-path-post-data": {
            /** Format: date-time */
            created_time: string;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            deletion_time: string;
            destroyed: boolean;
            version: number;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-restore-path-post-input": {
            version: number;
            options?: {
                [key: string]: unknown;
            };
        };
        "kv-v2-restore-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-restore-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-copy-path-post-data": {
            /** Format: date-time */
            created_time: string;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            deletion_time: string;
            destroyed: boolean;
            version: number;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-copy-path-post-input": {
            from: string;
            versions?: string;
        };
        "kv-v2-copy-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-copy-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-move-path-post-data": {
            /** Format: date-time */
            created_time: string;
            custom_metadata?: {
                [key: string]: string;
            } | null;
            deletion_time: string;
            destroyed: boolean;
            version: number;
        } & {
            [key: string]: unknown;
        };
        "kv-v2-move-path-post-input": {
            from: string;
        };
        "kv-v2-move-path-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kv-v2-move-path-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-config-get-data": {
            oidc_discovery_url: string;
            oidc_discovery_ca_pem: string;
            oidc_client_id: string;
            oidc_public_client: boolean;
            oidc_response_mode: string;
            oidc_response_types: string[];
            jwks_url: string;
            jwks_ca_pem: string;
            jwks_pairs: unknown[];
            default_role: string;
            jwt_validation_pubkeys: string[];
            jwt_supported_algs: string[];
            bound_issuer: string;
            provider_config?: {
                [key: string]: unknown;
            } | null;
            namespace_in_state?: boolean;
            unsupported_critical_cert_extensions: string[];
            override_allowed_server_names: string[];
            accept_as_token: boolean;
            token_max_lifetime: number;
            require_authorization_details: boolean;
            allowed_key_thumbprints?: string[];
            /** @enum {string} */
            status: "valid" | "invalid";
        } & {
            [key: string]: unknown;
        };
        "jwt-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-config-post-input": {
            oidc_discovery_url?: string;
            oidc_discovery_ca_pem?: string;
            oidc_client_id?: string;
            oidc_client_secret?: string;
            oidc_public_client?: boolean;
            oidc_response_mode?: string;
            oidc_response_types?: string[];
            jwks_url?: string;
            jwks_ca_pem?: string;
            jwks_pairs?: unknown[];
            default_role?: string;
            jwt_validation_pubkeys?: string[];
            jwt_supported_algs?: string[];
            bound_issuer?: string;
            provider_config?: {
                [key: string]: unknown;
            };
            namespace_in_state?: boolean;
            unsupported_critical_cert_extensions?: string[];
            override_allowed_server_names?: string[];
            accept_as_token?: boolean;
            token_max_lifetime?: string;
            require_authorization_details?: boolean;
            allowed_key_thumbprints?: string[];
            skip_jwks_validation?: boolean;
            guard?: number;
        };
        "jwt-config-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-role-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "jwt-role-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-role-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-role-name-get-data": {
            role_type?: string;
            bound_audiences: string[] | null;
            bound_subject?: string;
            bound_claims?: {
                [key: string]: unknown;
            } | null;
            bound_claims_type?: string;
            claim_mappings?: {
                [key: string]: string;
            } | null;
            claim_mappings_text_only?: boolean;
            user_claim?: string;
            user_claim_json_pointer?: boolean;
            groups_claim?: string;
            groups_claim_optional?: boolean;
            groups_claim_type?: string;
            oidc_scopes: string[] | null;
            allowed_redirect_uris: string[] | null;
            verbose_oidc_logging?: boolean;
            max_age?: number;
            callback_mode?: string;
            poll_interval?: number;
            oauth2_metadata: string[] | null;
            expiration_leeway?: number;
            not_before_leeway?: number;
            clock_skew_leeway?: number;
            oidc_disable_confirmation?: boolean;
            token_replay_protection?: boolean;
            token_policies_template_claims?: boolean;
            token_ttl?: number;
            token_max_ttl?: number;
            token_explicit_max_ttl?: number;
            token_period?: number;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            } | null;
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: number;
            /** @deprecated */
            max_ttl?: number;
            /** @deprecated */
            period?: number;
        } & {
            [key: string]: unknown;
        };
        "jwt-role-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-role-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-role-name-post-input": {
            role_type?: string;
            bound_audiences?: string[];
            bound_subject?: string;
            bound_claims?: {
                [key: string]: unknown;
            };
            bound_claims_type?: string;
            claim_mappings?: {
                [key: string]: string;
            };
            claim_mappings_text_only?: boolean;
            user_claim?: string;
            user_claim_json_pointer?: boolean;
            groups_claim?: string;
            groups_claim_optional?: boolean;
            groups_claim_type?: string;
            oidc_scopes?: string[];
            allowed_redirect_uris?: string[];
            verbose_oidc_logging?: boolean;
            max_age?: string;
            callback_mode?: string;
            poll_interval?: number;
            oauth2_metadata?: string[];
            expiration_leeway?: string;
            not_before_leeway?: string;
            clock_skew_leeway?: string;
            oidc_disable_confirmation?: boolean;
            token_replay_protection?: boolean;
            token_policies_template_claims?: boolean;
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: string;
            /** @deprecated */
            max_ttl?: string;
            /** @deprecated */
            period?: string;
            guard?: number;
        };
        "jwt-role-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-role-name-what-if-post-data": {
            history_days: number;
            since: string;
            subjects: number;
            succeed: number;
            lose: number;
            unknown: number;
            regain: number;
            refused_before: number;
            losers: ({
                role: string;
                subject: string;
                entity_id: string;
                path: string;
                last_login_at: string;
                logins: number;
                check: string;
                reason: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            cannot_be_judged: ({
                check: string;
                subjects: number;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            refusals: {
                tried: number;
                would_succeed: number;
                unknown: number;
                request_ids: string[];
            } & {
                [key: string]: unknown;
            };
            admits_more: ({
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                field: string;
                before: unknown;
                after: unknown;
            } & {
                [key: string]: unknown;
            })[];
            lint: {
                before: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                after: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "jwt-role-name-what-if-post-input": {
            role_type?: string;
            bound_audiences?: string[];
            bound_subject?: string;
            bound_claims?: {
                [key: string]: unknown;
            };
            bound_claims_type?: string;
            claim_mappings?: {
                [key: string]: string;
            };
            claim_mappings_text_only?: boolean;
            user_claim?: string;
            user_claim_json_pointer?: boolean;
            groups_claim?: string;
            groups_claim_optional?: boolean;
            groups_claim_type?: string;
            oidc_scopes?: string[];
            allowed_redirect_uris?: string[];
            verbose_oidc_logging?: boolean;
            max_age?: string;
            callback_mode?: string;
            poll_interval?: number;
            oauth2_metadata?: string[];
            expiration_leeway?: string;
            not_before_leeway?: string;
            clock_skew_leeway?: string;
            oidc_disable_confirmation?: boolean;
            token_replay_protection?: boolean;
            token_policies_template_claims?: boolean;
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: string;
            /** @deprecated */
            max_ttl?: string;
            /** @deprecated */
            period?: string;
        };
        "jwt-role-name-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-role-name-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-config-what-if-post-data": {
            history_days: number;
            since: string;
            subjects: number;
            succeed: number;
            lose: number;
            unknown: number;
            regain: number;
            refused_before: number;
            losers: ({
                role: string;
                subject: string;
                entity_id: string;
                path: string;
                last_login_at: string;
                logins: number;
                check: string;
                reason: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            cannot_be_judged: ({
                check: string;
                subjects: number;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            refusals: {
                tried: number;
                would_succeed: number;
                unknown: number;
                request_ids: string[];
            } & {
                [key: string]: unknown;
            };
            admits_more: ({
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                field: string;
                before: unknown;
                after: unknown;
            } & {
                [key: string]: unknown;
            })[];
            lint: {
                before: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                after: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "jwt-config-what-if-post-input": {
            oidc_discovery_url?: string;
            oidc_discovery_ca_pem?: string;
            oidc_client_id?: string;
            oidc_client_secret?: string;
            oidc_public_client?: boolean;
            oidc_response_mode?: string;
            oidc_response_types?: string[];
            jwks_url?: string;
            jwks_ca_pem?: string;
            jwks_pairs?: unknown[];
            default_role?: string;
            jwt_validation_pubkeys?: string[];
            jwt_supported_algs?: string[];
            bound_issuer?: string;
            provider_config?: {
                [key: string]: unknown;
            };
            namespace_in_state?: boolean;
            unsupported_critical_cert_extensions?: string[];
            override_allowed_server_names?: string[];
            accept_as_token?: boolean;
            token_max_lifetime?: string;
            require_authorization_details?: boolean;
            allowed_key_thumbprints?: string[];
            skip_jwks_validation?: boolean;
        };
        "jwt-config-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-config-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-login-post-input": {
            role?: string;
            jwt: string;
            distributed_claim_access_token?: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "jwt-login-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-oidc-auth_url-post-data": {
            auth_url: string;
            state?: string;
            poll_interval?: string;
            user_code?: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-oidc-auth_url-post-input": {
            role?: string;
            redirect_uri?: string;
            client_nonce?: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "jwt-oidc-auth_url-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-oidc-auth_url-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-oidc-callback-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-oidc-callback-post-input": {
            state?: string;
            code?: string;
            nonce?: string;
            client_nonce?: string;
            id_token?: string;
            iss?: string;
            confirmation?: string;
            denied?: boolean;
        };
        "jwt-oidc-poll-post-input": {
            state?: string;
            client_nonce?: string;
        };
        "jwt-oidc-poll-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-role-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-get-data": {
            cel_program?: {
                [key: string]: unknown;
            } | null;
            bound_audiences: string[];
            clock_skew_leeway: number;
            expiration_leeway: number;
            not_before_leeway: number;
            message: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-role-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-post-data": {
            cel_program?: {
                [key: string]: unknown;
            } | null;
            bound_audiences: string[];
            clock_skew_leeway: number;
            expiration_leeway: number;
            not_before_leeway: number;
            message: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-post-input": {
            cel_program: {
                [key: string]: unknown;
            };
            bound_audiences?: string[];
            clock_skew_leeway?: string;
            expiration_leeway?: string;
            not_before_leeway?: string;
            message?: string;
            guard?: number;
        };
        "jwt-cel-role-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-role-name-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-patch-data": {
            cel_program?: {
                [key: string]: unknown;
            } | null;
            bound_audiences: string[];
            clock_skew_leeway: number;
            expiration_leeway: number;
            not_before_leeway: number;
            message: string;
            name: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-patch-input": {
            cel_program?: {
                [key: string]: unknown;
            };
            bound_audiences?: string[];
            clock_skew_leeway?: string;
            expiration_leeway?: string;
            not_before_leeway?: string;
            message?: string;
            guard?: number;
        };
        "jwt-cel-role-name-patch-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-role-name-patch-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-what-if-post-data": {
            history_days: number;
            since: string;
            subjects: number;
            succeed: number;
            lose: number;
            unknown: number;
            regain: number;
            refused_before: number;
            losers: ({
                role: string;
                subject: string;
                entity_id: string;
                path: string;
                last_login_at: string;
                logins: number;
                check: string;
                reason: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            cannot_be_judged: ({
                check: string;
                subjects: number;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            refusals: {
                tried: number;
                would_succeed: number;
                unknown: number;
                request_ids: string[];
            } & {
                [key: string]: unknown;
            };
            admits_more: ({
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                field: string;
                before: unknown;
                after: unknown;
            } & {
                [key: string]: unknown;
            })[];
            lint: {
                before: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                after: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-role-name-what-if-post-input": {
            cel_program?: {
                [key: string]: unknown;
            };
            bound_audiences?: string[];
            clock_skew_leeway?: string;
            expiration_leeway?: string;
            not_before_leeway?: string;
            message?: string;
        };
        "jwt-cel-role-name-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-role-name-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-login-post-input": {
            role?: string;
            jwt: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "jwt-cel-login-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-try-post-data": {
            valid: boolean;
            error: string;
            variables: ({
                name: string;
                value: string;
                error: string;
            } & {
                [key: string]: unknown;
            })[];
            result?: ({
                /** @enum {string} */
                kind: "auth" | "denied" | "message" | "error" | "type";
                value: unknown;
            } & {
                [key: string]: unknown;
            }) | null;
        } & {
            [key: string]: unknown;
        };
        "jwt-cel-try-post-input": {
            cel_program?: {
                [key: string]: unknown;
            };
            claims?: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            now?: string;
        };
        "jwt-cel-try-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-cel-try-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-explain-get-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-explain-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-explain-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-explain-post-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-explain-post-input": {
            request_id?: string;
            role?: string;
            cel?: boolean;
            jwt?: string;
            claims?: {
                [key: string]: unknown;
            };
            remote_address?: string;
            as_token?: boolean;
            id_token?: boolean;
            role_fields?: {
                [key: string]: unknown;
            };
            distributed_claim_access_token?: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "jwt-explain-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-explain-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-failures-get-data": {
            kept: number;
            dropped: number;
            since: string;
            failures: ({
                request_id: string;
                time: string;
                /** @enum {string} */
                path: "login" | "cel/login" | "oidc/auth_url" | "oidc/callback" | "oidc/poll" | "renew";
                inline: boolean;
                as_token: boolean;
                role: string;
                subject: string;
                looked_at: {
                    [key: string]: string;
                };
                reason: string;
                check: string;
                status: number;
                cause: string;
                remote_address: string;
                alg: string;
                kid: string;
                verified: boolean;
                claims: {
                    [key: string]: string;
                };
                error: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "jwt-failures-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-failures-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-failures-hash-post-data": {
            hash: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-failures-hash-post-input": {
            input?: string;
        };
        "jwt-failures-hash-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-failures-hash-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-status-get-data": {
            ok: boolean;
            /** @enum {string} */
            type: "none" | "static" | "jwks" | "multi_jwks" | "discovery" | "oidc";
            sources: ({
                /** @enum {string} */
                kind: "static" | "jwks" | "discovery";
                url: string;
                reachable: boolean | null;
                keys: number;
                kids: string[];
                algorithms: string[];
                skipped_keys: ({
                    kid: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                fetched_at: string | null;
                age_seconds: number | null;
                fetches: number;
                clock_offset_seconds: number | null;
                clock_offset_estimated: boolean;
                last_error?: ({
                    time: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                }) | null;
            } & {
                [key: string]: unknown;
            })[];
            pending_logins: number;
            last_login_at: string | null;
            last_refusal_at: string | null;
            last_refused_config?: ({
                time: string;
                text: string;
            } & {
                [key: string]: unknown;
            }) | null;
        } & {
            [key: string]: unknown;
        };
        "jwt-status-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-status-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-keys-get-data": {
            allowed_key_thumbprints: string[];
            sources: ({
                /** @enum {string} */
                kind: "static" | "jwks" | "discovery";
                url: string;
                observed_at: string | null;
                clock_offset_seconds: number | null;
                clock_offset_estimated: boolean;
                keys: ({
                    thumbprint: string;
                    kid: string;
                    type: string;
                    algorithms: string[];
                    size: number;
                    current: boolean;
                    allowed: boolean;
                    first_seen: string;
                    last_seen: string;
                    gone_since: string | null;
                    first_login: string | null;
                    last_login: string | null;
                } & {
                    [key: string]: unknown;
                })[];
                document?: {
                    [key: string]: string;
                } | null;
                fetches: ({
                    time: string;
                    /** @enum {string} */
                    of: "keys" | "document";
                    ok: boolean;
                    milliseconds: number;
                    error: string;
                } & {
                    [key: string]: unknown;
                })[];
                alerts: ({
                    time: string;
                    /** @enum {string} */
                    kind: "used_after_removal" | "unusual_key" | "single_key" | "document_changed";
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "jwt-keys-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-keys-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "jwt-lint-get-data": {
            findings: ({
                role: string;
                code: string;
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "jwt-lint-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["jwt-lint-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-users-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "userpass-users-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-users-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-users-username-get-data": {
            token_ttl?: number;
            token_max_ttl?: number;
            token_explicit_max_ttl?: number;
            token_period?: number;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            } | null;
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            ttl?: number;
            /** @deprecated */
            max_ttl?: number;
            /** @deprecated */
            bound_cidrs?: string[];
        } & {
            [key: string]: unknown;
        };
        "userpass-users-username-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-users-username-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-users-username-post-input": {
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            ttl?: string;
            /** @deprecated */
            max_ttl?: string;
            /** @deprecated */
            bound_cidrs?: string[];
            password?: string;
            password_hash?: string;
        };
        "userpass-users-username-password-post-input": {
            password?: string;
            password_hash?: string;
        };
        "userpass-users-username-policies-post-input": {
            token_policies?: string[];
            /** @deprecated */
            policies?: string[];
        };
        "userpass-login-username-post-input": {
            password: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "userpass-login-username-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-explain-get-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-explain-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-explain-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-explain-post-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-explain-post-input": {
            request_id?: string;
        };
        "userpass-explain-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-explain-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-failures-get-data": {
            kept: number;
            dropped: number;
            since: string;
            failures: ({
                request_id: string;
                time: string;
                /** @enum {string} */
                path: "login" | "cel/login" | "oidc/auth_url" | "oidc/callback" | "oidc/poll" | "renew";
                inline: boolean;
                as_token: boolean;
                role: string;
                subject: string;
                looked_at: {
                    [key: string]: string;
                };
                reason: string;
                check: string;
                status: number;
                cause: string;
                remote_address: string;
                alg: string;
                kid: string;
                verified: boolean;
                claims: {
                    [key: string]: string;
                };
                error: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "userpass-failures-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-failures-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-failures-hash-post-data": {
            hash: string;
        } & {
            [key: string]: unknown;
        };
        "userpass-failures-hash-post-input": {
            input?: string;
        };
        "userpass-failures-hash-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["userpass-failures-hash-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "approle-role-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-get-data": {
            bind_secret_id?: boolean;
            secret_id_bound_cidrs: string[] | null;
            secret_id_num_uses?: number;
            secret_id_ttl?: number;
            local_secret_ids?: boolean;
            token_ttl?: number;
            token_max_ttl?: number;
            token_explicit_max_ttl?: number;
            token_period?: number;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            } | null;
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            period?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-post-input": {
            bind_secret_id?: boolean;
            secret_id_bound_cidrs?: string[];
            /** @deprecated */
            bound_cidr_list?: string[];
            secret_id_num_uses?: number;
            secret_id_ttl?: string;
            role_id?: string;
            local_secret_ids?: boolean;
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            period?: string;
        };
        "approle-role-role_name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-policies-get-data": {
            token_policies?: string[];
            /** @deprecated */
            policies?: string[];
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-policies-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-policies-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-policies-post-input": {
            token_policies?: string[];
            /** @deprecated */
            policies?: string[];
        };
        "approle-role-role_name-bound-cidr-list-get-data": {
            bound_cidr_list: string[] | null;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-bound-cidr-list-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-bound-cidr-list-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-bound-cidr-list-post-input": {
            /** @deprecated */
            bound_cidr_list?: string[];
        };
        "approle-role-role_name-secret-id-bound-cidrs-get-data": {
            secret_id_bound_cidrs: string[] | null;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-bound-cidrs-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-bound-cidrs-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-bound-cidrs-post-input": {
            secret_id_bound_cidrs?: string[];
        };
        "approle-role-role_name-token-bound-cidrs-get-data": {
            token_bound_cidrs: string[] | null;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-bound-cidrs-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-token-bound-cidrs-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-bound-cidrs-post-input": {
            token_bound_cidrs?: string[];
        };
        "approle-role-role_name-bind-secret-id-get-data": {
            bind_secret_id?: boolean;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-bind-secret-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-bind-secret-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-bind-secret-id-post-input": {
            bind_secret_id?: boolean;
        };
        "approle-role-role_name-secret-id-num-uses-get-data": {
            secret_id_num_uses?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-num-uses-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-num-uses-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-num-uses-post-input": {
            secret_id_num_uses?: number;
        };
        "approle-role-role_name-secret-id-ttl-get-data": {
            secret_id_ttl?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-ttl-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-ttl-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-ttl-post-input": {
            secret_id_ttl?: string;
        };
        "approle-role-role_name-period-get-data": {
            token_period?: number;
            /** @deprecated */
            period?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-period-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-period-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-period-post-input": {
            token_period?: string;
            /** @deprecated */
            period?: string;
        };
        "approle-role-role_name-token-num-uses-get-data": {
            token_num_uses?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-num-uses-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-token-num-uses-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-num-uses-post-input": {
            token_num_uses?: number;
        };
        "approle-role-role_name-token-ttl-get-data": {
            token_ttl?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-ttl-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-token-ttl-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-ttl-post-input": {
            token_ttl?: string;
        };
        "approle-role-role_name-token-max-ttl-get-data": {
            token_max_ttl?: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-max-ttl-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-token-max-ttl-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-token-max-ttl-post-input": {
            token_max_ttl?: string;
        };
        "approle-role-role_name-role-id-get-data": {
            role_id?: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-role-id-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-role-id-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-role-id-post-input": {
            role_id?: string;
        };
        "approle-role-role_name-local-secret-ids-get-data": {
            local_secret_ids: boolean;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-local-secret-ids-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-local-secret-ids-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-post-data": {
            secret_id: string;
            secret_id_accessor: string;
            secret_id_num_uses: number;
            secret_id_ttl: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-post-input": {
            metadata?: string;
            cidr_list?: string[];
            token_bound_cidrs?: string[];
            num_uses?: number;
            ttl?: string;
        };
        "approle-role-role_name-secret-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-custom-secret-id-post-data": {
            secret_id: string;
            secret_id_accessor: string;
            secret_id_num_uses: number;
            secret_id_ttl: number;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-custom-secret-id-post-input": {
            metadata?: string;
            cidr_list?: string[];
            token_bound_cidrs?: string[];
            num_uses?: number;
            ttl?: string;
            secret_id: string;
        };
        "approle-role-role_name-custom-secret-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-custom-secret-id-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-lookup-post-data": {
            secret_id_accessor: string;
            secret_id_num_uses: number;
            secret_id_ttl: number;
            creation_time: string;
            expiration_time: string;
            last_updated_time: string;
            metadata: {
                [key: string]: string;
            };
            cidr_list: string[];
            token_bound_cidrs: string[];
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-lookup-post-input": {
            secret_id: string;
        };
        "approle-role-role_name-secret-id-lookup-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-lookup-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-search-post-data": {
            keys: string[];
            key_info: {
                [key: string]: {
                    secret_id_accessor: string;
                    secret_id_num_uses: number;
                    secret_id_ttl: number;
                    creation_time: string;
                    expiration_time: string;
                    last_updated_time: string;
                    metadata: {
                        [key: string]: string;
                    };
                    cidr_list: string[];
                    token_bound_cidrs: string[];
                } & {
                    [key: string]: unknown;
                };
            };
            next: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-search-post-input": {
            metadata?: {
                [key: string]: string;
            };
            cidr?: string;
            /** Format: date-time */
            expires_before?: string;
            /** Format: date-time */
            unused_since?: string;
            after?: string;
            limit?: number;
        };
        "approle-role-role_name-secret-id-search-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-search-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-destroy-post-input": {
            secret_id: string;
        };
        "approle-role-role_name-secret-id-accessor-lookup-post-data": {
            secret_id_accessor: string;
            secret_id_num_uses: number;
            secret_id_ttl: number;
            creation_time: string;
            expiration_time: string;
            last_updated_time: string;
            metadata: {
                [key: string]: string;
            };
            cidr_list: string[];
            token_bound_cidrs: string[];
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-accessor-lookup-post-input": {
            secret_id_accessor: string;
        };
        "approle-role-role_name-secret-id-accessor-lookup-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-role-role_name-secret-id-accessor-lookup-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-accessor-lookup-post-missing-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: {
                error: string;
            } & {
                [key: string]: unknown;
            };
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-role-role_name-secret-id-accessor-destroy-post-input": {
            secret_id_accessor: string;
        };
        "approle-login-post-input": {
            role_id: string;
            secret_id?: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "approle-login-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-explain-get-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "approle-explain-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-explain-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-explain-post-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "approle-explain-post-input": {
            request_id?: string;
        };
        "approle-explain-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-explain-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-failures-get-data": {
            kept: number;
            dropped: number;
            since: string;
            failures: ({
                request_id: string;
                time: string;
                /** @enum {string} */
                path: "login" | "cel/login" | "oidc/auth_url" | "oidc/callback" | "oidc/poll" | "renew";
                inline: boolean;
                as_token: boolean;
                role: string;
                subject: string;
                looked_at: {
                    [key: string]: string;
                };
                reason: string;
                check: string;
                status: number;
                cause: string;
                remote_address: string;
                alg: string;
                kid: string;
                verified: boolean;
                claims: {
                    [key: string]: string;
                };
                error: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "approle-failures-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-failures-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-failures-hash-post-data": {
            hash: string;
        } & {
            [key: string]: unknown;
        };
        "approle-failures-hash-post-input": {
            input?: string;
        };
        "approle-failures-hash-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-failures-hash-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-tidy-secret-id-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "approle-lint-get-data": {
            findings: ({
                role: string;
                code: string;
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "approle-lint-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["approle-lint-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-config-get-data": {
            kubernetes_host: string;
            kubernetes_ca_cert: string;
            pem_keys: string[];
            issuer: string;
            disable_iss_validation: boolean;
            disable_local_ca_jwt: boolean;
            use_annotations_as_alias_metadata: boolean;
            verification: string;
            token_max_lifetime: number;
            allowed_key_thumbprints?: string[];
            token_reviewer_jwt_set: boolean;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-config-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-config-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-config-post-input": {
            kubernetes_host?: string;
            kubernetes_ca_cert?: string;
            token_reviewer_jwt?: string;
            pem_keys?: string[];
            issuer?: string;
            disable_iss_validation?: boolean;
            disable_local_ca_jwt?: boolean;
            use_annotations_as_alias_metadata?: boolean;
            verification?: string;
            token_max_lifetime?: string;
            allowed_key_thumbprints?: string[];
            guard?: number;
        };
        "kubernetes-config-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-search-data": {
            keys: string[];
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-search-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-role-search-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-name-get-data": {
            bound_service_account_names?: string[];
            bound_service_account_namespaces: string[] | null;
            bound_service_account_namespace_selector?: string;
            audience?: string;
            alias_name_source?: string;
            renewal_review?: boolean;
            token_ttl?: number;
            token_max_ttl?: number;
            token_explicit_max_ttl?: number;
            token_period?: number;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            } | null;
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: number;
            /** @deprecated */
            max_ttl?: number;
            /** @deprecated */
            period?: number;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-name-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-role-name-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-name-post-input": {
            bound_service_account_names?: string[];
            bound_service_account_namespaces?: string[];
            bound_service_account_namespace_selector?: string;
            audience?: string;
            alias_name_source?: string;
            renewal_review?: boolean;
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: string;
            /** @deprecated */
            max_ttl?: string;
            /** @deprecated */
            period?: string;
            guard?: number;
        };
        "kubernetes-role-name-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-name-what-if-post-data": {
            history_days: number;
            since: string;
            subjects: number;
            succeed: number;
            lose: number;
            unknown: number;
            regain: number;
            refused_before: number;
            losers: ({
                role: string;
                subject: string;
                entity_id: string;
                path: string;
                last_login_at: string;
                logins: number;
                check: string;
                reason: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            cannot_be_judged: ({
                check: string;
                subjects: number;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            refusals: {
                tried: number;
                would_succeed: number;
                unknown: number;
                request_ids: string[];
            } & {
                [key: string]: unknown;
            };
            admits_more: ({
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                field: string;
                before: unknown;
                after: unknown;
            } & {
                [key: string]: unknown;
            })[];
            lint: {
                before: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                after: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "kubernetes-role-name-what-if-post-input": {
            bound_service_account_names?: string[];
            bound_service_account_namespaces?: string[];
            bound_service_account_namespace_selector?: string;
            audience?: string;
            alias_name_source?: string;
            renewal_review?: boolean;
            token_ttl?: string;
            token_max_ttl?: string;
            token_explicit_max_ttl?: string;
            token_period?: string;
            token_policies?: string[];
            token_bound_cidrs?: string[];
            token_strictly_bind_ip?: boolean;
            token_no_default_policy?: boolean;
            token_num_uses?: number;
            token_type?: string;
            alias_metadata?: {
                [key: string]: string;
            };
            /** @deprecated */
            policies?: string[];
            /** @deprecated */
            bound_cidrs?: string[];
            /** @deprecated */
            num_uses?: number;
            /** @deprecated */
            ttl?: string;
            /** @deprecated */
            max_ttl?: string;
            /** @deprecated */
            period?: string;
        };
        "kubernetes-role-name-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-role-name-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-config-what-if-post-data": {
            history_days: number;
            since: string;
            subjects: number;
            succeed: number;
            lose: number;
            unknown: number;
            regain: number;
            refused_before: number;
            losers: ({
                role: string;
                subject: string;
                entity_id: string;
                path: string;
                last_login_at: string;
                logins: number;
                check: string;
                reason: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            cannot_be_judged: ({
                check: string;
                subjects: number;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            refusals: {
                tried: number;
                would_succeed: number;
                unknown: number;
                request_ids: string[];
            } & {
                [key: string]: unknown;
            };
            admits_more: ({
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
            changes: ({
                field: string;
                before: unknown;
                after: unknown;
            } & {
                [key: string]: unknown;
            })[];
            lint: {
                before: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
                after: ({
                    role: string;
                    code: string;
                    field: string;
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        "kubernetes-config-what-if-post-input": {
            kubernetes_host?: string;
            kubernetes_ca_cert?: string;
            token_reviewer_jwt?: string;
            pem_keys?: string[];
            issuer?: string;
            disable_iss_validation?: boolean;
            disable_local_ca_jwt?: boolean;
            use_annotations_as_alias_metadata?: boolean;
            verification?: string;
            token_max_lifetime?: string;
            allowed_key_thumbprints?: string[];
        };
        "kubernetes-config-what-if-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-config-what-if-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-login-post-input": {
            role: string;
            jwt: string;
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "kubernetes-login-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            auth: components["schemas"]["Auth"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-explain-get-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-explain-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-explain-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-explain-post-data": {
            allowed: boolean;
            status: number;
            error: string;
            cause: string;
            reason: string;
            role: string;
            clock?: ({
                offset_seconds: number;
                estimated: boolean;
                source: string;
                measured_at: string;
            } & {
                [key: string]: unknown;
            }) | null;
            checks: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "skipped";
                expected: unknown[];
                seen: unknown;
                reason: string;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
            login?: ({
                display_name: string;
                alias?: ({
                    name: string;
                    mount_accessor: string;
                    metadata: {
                        [key: string]: string;
                    };
                    entity_id: string;
                } & {
                    [key: string]: unknown;
                }) | null;
                groups: {
                    claimed: string[];
                    matched: ({
                        id: string;
                        name: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                };
                token_policies: string[];
                identity_policies: string[];
                policies: string[];
                scope_policies?: string[];
                scope_paths?: string[];
                scope_expire_time?: string;
                token_type: string;
                lease_duration: number;
                renewable: boolean;
                num_uses: number;
                period: number;
                explicit_max_ttl: number;
                bound_cidrs: string[];
                warnings: string[];
            } & {
                [key: string]: unknown;
            }) | null;
            /** @enum {string} */
            now?: "allowed" | "refused" | "unknown";
            now_checks?: ({
                name: string;
                /** @enum {string} */
                verdict: "pass" | "fail" | "unknown";
                reason: string;
            } & {
                [key: string]: unknown;
            })[];
            proposals?: ({
                path: string;
                fields: {
                    [key: string]: unknown;
                };
                /** @constant */
                unverified?: true;
            } & {
                [key: string]: unknown;
            })[];
            request_id?: string;
            time?: string;
            path?: string;
            remote_address?: string;
            report: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-explain-post-input": {
            request_id?: string;
            role?: string;
            jwt?: string;
            claims?: {
                [key: string]: unknown;
            };
            remote_address?: string;
            role_fields?: {
                [key: string]: unknown;
            };
            scope_policies?: string[];
            scope_paths?: string[];
            scope_ttl?: string;
        };
        "kubernetes-explain-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-explain-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-failures-get-data": {
            kept: number;
            dropped: number;
            since: string;
            failures: ({
                request_id: string;
                time: string;
                /** @enum {string} */
                path: "login" | "cel/login" | "oidc/auth_url" | "oidc/callback" | "oidc/poll" | "renew";
                inline: boolean;
                as_token: boolean;
                role: string;
                subject: string;
                looked_at: {
                    [key: string]: string;
                };
                reason: string;
                check: string;
                status: number;
                cause: string;
                remote_address: string;
                alg: string;
                kid: string;
                verified: boolean;
                claims: {
                    [key: string]: string;
                };
                error: string;
                expected: unknown[];
                seen: unknown;
                hint: string;
                detail: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "kubernetes-failures-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-failures-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-failures-hash-post-data": {
            hash: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-failures-hash-post-input": {
            input?: string;
        };
        "kubernetes-failures-hash-post-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-failures-hash-post-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-status-get-data": {
            ok: boolean;
            type: string;
            verification: string;
            host: string;
            reviewer: string;
            ca: string;
            problems: string[];
            last_review?: ({
                time: string;
                ok: boolean;
                reason: string;
                text: string;
            } & {
                [key: string]: unknown;
            }) | null;
            keys: string[];
            clock_offset_seconds: number | null;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-status-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-status-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-keys-get-data": {
            allowed_key_thumbprints: string[];
            sources: ({
                /** @enum {string} */
                kind: "static" | "jwks" | "discovery";
                url: string;
                observed_at: string | null;
                clock_offset_seconds: number | null;
                clock_offset_estimated: boolean;
                keys: ({
                    thumbprint: string;
                    kid: string;
                    type: string;
                    algorithms: string[];
                    size: number;
                    current: boolean;
                    allowed: boolean;
                    first_seen: string;
                    last_seen: string;
                    gone_since: string | null;
                    first_login: string | null;
                    last_login: string | null;
                } & {
                    [key: string]: unknown;
                })[];
                document?: {
                    [key: string]: string;
                } | null;
                fetches: ({
                    time: string;
                    /** @enum {string} */
                    of: "keys" | "document";
                    ok: boolean;
                    milliseconds: number;
                    error: string;
                } & {
                    [key: string]: unknown;
                })[];
                alerts: ({
                    time: string;
                    /** @enum {string} */
                    kind: "used_after_removal" | "unusual_key" | "single_key" | "document_changed";
                    text: string;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "kubernetes-keys-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-keys-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
        "kubernetes-lint-get-data": {
            findings: ({
                role: string;
                code: string;
                field: string;
                text: string;
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        "kubernetes-lint-get-answer": {
            request_id: string;
            lease_id: string;
            renewable: boolean;
            lease_duration: number;
            data: components["schemas"]["kubernetes-lint-get-data"];
            warnings: string[] | null;
            mount_type: string;
        } & {
            [key: string]: unknown;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
