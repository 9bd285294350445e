#!/bin/sh
# Creates the identity with which one environment of the pipeline deploys, without a secret (OIDC). Run it in the azd environment of the app.
# Usage: infra/azure/pipeline-identity.sh <environment> <owner>/<repository>
set -eu

GROUP="$(azd env get-value AZURE_RESOURCE_GROUP)"
APP="$(azd env get-value SERVICE_API_NAME)"
# How the tokens of this repository begin
SUBJECT="$(gh api "repos/$2/actions/oidc/customization/sub" --jq .sub_claim_prefix)"

az identity create --resource-group "$GROUP" --name id-deploy
az identity federated-credential create --resource-group "$GROUP" --identity-name id-deploy --name github \
  --issuer https://token.actions.githubusercontent.com --audiences api://AzureADTokenExchange --subject "$SUBJECT:environment:$1"

PRINCIPAL="$(az identity show --resource-group "$GROUP" --name id-deploy --query principalId --output tsv)"
az role assignment create --role 'Website Contributor' --assignee-principal-type ServicePrincipal --assignee-object-id "$PRINCIPAL" \
  --scope "$(az functionapp show --resource-group "$GROUP" --name "$APP" --query id --output tsv)"
# The deployment reads the plan of the app.
az role assignment create --role Reader --assignee-principal-type ServicePrincipal --assignee-object-id "$PRINCIPAL" \
  --scope "$(az resource show --resource-group "$GROUP" --name "$APP" --resource-type Microsoft.Web/sites --query properties.serverFarmId --output tsv)"
